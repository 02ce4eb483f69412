// Server: one MCP server (Model Context Protocol) as the agent uses it: started or connected to, kept up, its tools listed and called.
//
// It speaks JSON-RPC over a child's stdin and stdout or over Streamable HTTP. One that ends, or cannot be reached, is tried again after
// 0.5 s, and twice as long each time, up to a minute; when it has been there for a minute, that begins anew. Meanwhile its tools stay
// listed and calls of them fail at once, saying why. The same server serves all turns at once. What a program says of its own secrets
// is taken out of its last words. Confined to its loop's thread. Not to be destroyed within a callback of its own or of a call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/agent.h"
#include "http/client.h"
#include "http/target.h"
#include "net/loop.h"
#include "process/child.h"

namespace agentd::mcp {

struct Tool {
  std::string name, description;
  Json schema;             // of the arguments
  bool read_only = false;  // it says that it changes nothing (annotations.readOnlyHint)
  bool operator==(const Tool&) const = default;
};

// What a tool gave: MCP's content blocks as they came, and the same as text for a model. `is_error`: the tool says it failed.
struct ToolResult {
  std::string text;
  Json content = Json::array();
  Json structured = nullptr;  // null = none
  bool is_error = false;
};

// A question of the server's to a person (elicitation). Answered once, by the member of this name; when nobody waits for the answer any
// more, that does nothing.
struct Elicitation {
  std::string id;  // among those of its server
  std::string message;
  Json schema;  // of the answer, an object
  // {action: "accept", content}, {action: "decline"} or {action: "cancel"}
  std::move_only_function<void(Json answer)> answer;
};

// Called on the loop, never within call(). The call may be destroyed within each.
struct CallListener {
  std::string owner;  // for whom it is made: a question that may be of several owners' calls is asked nobody
  std::function<void(double progress, double total, const std::string& message)> progress;  // total 0 = unknown
  std::function<void(Elicitation)> elicit;
  std::function<void(const std::string& id)> withdraw;  // that question needs no answer any more
  // Errors: kUnavailable (the server is not there, went away, or has an error of its own), kTimeout (it was silent for call_timeout,
  // while no person was asked), kInvalidParams (no such tool, or the arguments do not fit it).
  std::move_only_function<void(Result<ToolResult>)> done;
};

// What a server over HTTP that wants OAuth needs of the daemon.
struct SignIn {
  std::string redirect_uri;                             // where a person's browser comes back to
  Json kept = nullptr;                                  // what `keep` was last told, in this life or before
  std::function<void(Json)> keep = [](const Json&) {};  // tokens too
};

// One call under way. Destroying it cancels it, which the server is told.
class Call final {
 public:
  Call() = default;
  ~Call();
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;

 private:
  friend class Server;
  struct Impl;
  explicit Call(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

class Server final {
 public:
  struct Events {
    std::function<void()> tools_changed;  // or whether a sign-in is wanted
    // Only of one that is a program. The end of the last is told when this is gone already.
    std::function<void(process::ChildId node, int pid)> child_started;  // also within the constructor
    std::function<void(process::ChildId node)> child_ended;
  };

  // Starts at once. The references outlive this.
  Server(net::Loop& loop, process::Children& children, http::Client& client, config::McpServer config, Events events,
         SignIn sign_in = {});
  ~Server();  // ends the program, by the kill ladder of Children; calls under way fail, a turn of the loop later
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const config::McpServer& config() const;
  // At most 1,000, those that the configuration lets by. Empty until it is there for the first time.
  [[nodiscard]] const std::vector<Tool>& tools() const;
  // "ready", "starting", or why it is not there.
  [[nodiscard]] std::string state() const;
  [[nodiscard]] Call call(const std::string& tool, Json arguments, CallListener listener);

  // Whether it is not there, or refuses calls, until a person signs in; and how that is done (mcp/authorization.h).
  [[nodiscard]] bool wants_sign_in() const;
  void begin_sign_in(std::function<void(Result<std::string> url)> told);
  [[nodiscard]] bool waits_for(const std::string& state) const;
  // It connects again when that went well.
  void finish_sign_in(const http::Query& back, std::function<void(Status)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::mcp
