// FakeServer: an HTTP server of this machine for tests that does exactly what the test says, cuts included.
//
// Each connection is one request, handled on a thread of its own by the given function; the connection closes
// when the function returns. The destructor shuts every connection and joins. Every wait has a deadline (10
// s).
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"

namespace agentd::http {

class FakeExchange final {
 public:
  explicit FakeExchange(int fd) : fd_(fd) {}
  [[nodiscard]] bool read_request();

  [[nodiscard]] const std::string& head() const { return head_; }  // request line and headers, as they came
  [[nodiscard]] const std::string& body() const { return body_; }
  [[nodiscard]] Json json() const { return Json::parse(body_); }

  void send(std::string_view bytes);
  void answer(int status, std::string_view body, std::string_view headers = "Content-Type: application/json\r\n");
  void answer_result(const Json& result);  // a JSON-RPC response, id 1
  void begin_events();                     // the head of an event stream
  void send_chunk(std::string_view bytes);
  void send_result(const Json& result);  // one event of a stream
  void end_chunks() { send("0\r\n\r\n"); }
  void cut();                      // resets the connection
  void wait_for_peer();            // until the peer closes
  void relay(std::uint16_t port);  // between the peer and that port of loopback, until one of them closes

 private:
  int fd_;
  std::string head_;
  std::string body_;
};

class FakeServer final {
 public:
  using Handler = std::function<void(FakeExchange&)>;
  explicit FakeServer(Handler handler);                    // on a loopback port
  FakeServer(const std::string& socket, Handler handler);  // at the path of a unix socket
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] std::string url() const;

 private:
  void accept_loop();

  Handler handler_;
  int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace agentd::http
