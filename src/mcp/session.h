// Session: one conversation with an MCP server over any transport: introduced, its tools listed, its tools called, until it ends.
//
//   start() --> initialize --> tools/list, page by page --> listed --> calls … --> lost --> end()
//
// It is lost when it is not listed in start_timeout. Every request has a deadline; that of a call stands still while the server waits
// for a person's answer, and begins anew with that answer and with each progress: it bounds how long a server is silent. One that does
// not answer a ping after such a silence is lost. Confined to its loop's thread. Not to be ended or destroyed within its own callbacks,
// nor within those of a call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/redact.h"
#include "base/result.h"
#include "config/agent.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "net/loop.h"

namespace agentd::mcp {

class Session final : public std::enable_shared_from_this<Session> {
 public:
  // On the loop, and none after end().
  struct Events {
    std::function<void(std::vector<Tool>)>
        listed;  // all its tools: once it is there, and whenever it says that they changed
    std::function<void(const std::string& why)> lost;  // once: nothing will come of it any more
  };
  Session(net::Loop& loop, config::McpServer config, Events events);

  // What the transport that start() takes was made with.
  [[nodiscard]] Transport::Events ears();
  void start(std::unique_ptr<Transport> transport);
  // The transport ends; calls under way fail with this, in a later turn of the loop.
  void end(const std::string& why);

  std::uint64_t call(const std::string& tool, Json arguments, CallListener listener);
  // Nobody waits for that call any more: nothing is called, and the server is told.
  void cancel(std::uint64_t id);

 private:
  using Done = std::move_only_function<void(Result<Json>)>;
  struct Pending {
    explicit Pending(net::Loop& loop) : timer(loop) {}
    Done done;
    CallListener listener;  // of calls; its `done` is in the one above
    bool is_call = false;
    net::Timer timer;
  };

  void request(const std::string& method, Json params, Done done);
  void send_request(std::uint64_t id, const std::string& method, Json params, std::shared_ptr<Pending> pending);
  void notify(const std::string& method, Json params = nullptr);
  void send(Json message);
  void arm(std::uint64_t id);
  void expire(std::uint64_t id);
  [[nodiscard]] std::shared_ptr<Pending> take(std::uint64_t id);
  void lose(const std::string& why);

  void take_introduction(const Result<Json>& result);
  void list();
  void list_page(const std::string& cursor);
  void take_page(const Result<Json>& page);
  void tell_tools();

  void receive(const Json& message, const Json& within);
  void take_answer(const Json& message);
  [[nodiscard]] Error error_of(const Json& error) const;
  void take_request(const Json& message, const Json& within);
  void take_notification(const Json& message);
  void take_progress(const Json& params);
  void elicit(const Json& id, const Json& params, const Json& within);
  // The call that a question of the server's belongs to, or 0.
  [[nodiscard]] std::uint64_t asking_call(const Json& within) const;
  void answer(const std::string& asked, Json answer);
  void withdraw(const std::string& asked);
  void resume(const std::string& asked);

  net::Loop& loop_;
  const config::McpServer config_;
  const Redactor redactor_;
  Events events_;
  std::unique_ptr<Transport> transport_;
  net::Timer start_;  // until it is listed for the first time
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Pending>> pending_;
  std::map<std::string, std::uint64_t>
      asked_;                // id of an elicitation, as JSON, that waits for a person -> the call that waits with it
  std::vector<Tool> found_;  // by the listing under way
  int pages_ = 0;
  bool listing_ = false;
  bool stale_ = false;   // the list changed while it was listed
  bool listed_ = false;  // once
};

}  // namespace agentd::mcp
