// What the tests of the server have in common: a server on a loop in a thread of its own, and a blocking
// client with its own reading of HTTP, so that the two cannot be wrong in the same way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "http/server.h"
#include "net/loop.h"

namespace agentd::http {

// The value, or the end of the test when it does not come within 20 s.
template <class T>
T await(std::promise<T>& promise) {
  auto future = promise.get_future();
  if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) {
    throw std::runtime_error("what was waited for did not happen");
  }
  return future.get();
}

inline const SystemClock kSystemClock;

// Its handler is two functions; without them it answers 200 with "METHOD path body".
class TestServer final : private Handler {
 public:
  explicit TestServer(ServerLimits limits = {}, const Clock& clock = kSystemClock);
  ~TestServer() override;

  std::function<std::optional<Response>(const Request&)> on_header;  // runs on the loop's thread, as the next one does
  std::function<void(std::shared_ptr<Exchange>)> on_request;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] Json losses() const { return losses_.to_json(); }
  // Runs `work` on the loop and waits for it.
  void on_loop(const std::function<void()>& work);
  // Waits until there are `count` connections. Bounded: false after 10 s.
  [[nodiscard]] bool wait_for_connections(std::size_t count);

 private:
  std::optional<Response> check_header(const Request& header) override;
  void handle(std::shared_ptr<Exchange> exchange) override;

  Quota connections_;
  Losses losses_;
  net::Loop loop_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

struct Reply {
  int status = 0;                                   // 0: the connection ended before a whole header
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
  bool complete = false;  // the body ended as its framing says
};

// Every wait ends after 20 s, which a test sees as the end of the connection.
class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_buffer = 0);
  explicit TestClient(Descriptor connected);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  void send(std::string_view bytes) const;
  Reply read_reply(bool of_head_request = false);
  Reply exchange(std::string_view bytes) {
    send(bytes);
    return read_reply();
  }
  // One chunk of a reply whose header was read; empty for the last one, "cut" when the connection ended
  // instead.
  std::string read_chunk();
  Reply read_header();
  // At least one byte of what comes, at most `most`; empty at the end.
  std::string read_some(std::size_t most = 65536);
  // Whether the connection ends now, with nothing before it.
  [[nodiscard]] bool at_end();
  void finish_sending() const;
  void reset();  // closes with RST
  void close();

 private:
  bool fill();
  std::string take_line();

  int fd_;
  std::string buffer_;
};

// "GET path" with a Host, and more header lines if wanted.
[[nodiscard]] std::string get(std::string_view path, std::string_view fields = "");

}  // namespace agentd::http
