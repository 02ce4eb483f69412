// McpSignIns: how people sign the daemon in to MCP servers that want it: a tool `<server>__sign_in`, whose use asks its task
// with AUTH_REQUIRED and a URL, until the browser of whoever visits that comes back to the daemon (`GET /oauth2/callback`).
//
// What is signed in is the daemon, for everybody's turns: so only the operator's turns may ask. Confined to the core thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/target.h"
#include "mcp/server.h"
#include "net/loop.h"
#include "runtime/tools.h"

namespace agentd::runtime {

// The path at which it does.
inline constexpr std::string_view kSignInCallback = "/oauth2/callback";

class McpSignIns final {
 public:
  explicit McpSignIns(net::Loop& loop) : loop_(loop) {}

  [[nodiscard]] static ToolFacts facts(std::string name, const std::string& server);
  // Signs in to that server. `signed_in` is called before the use is done.
  [[nodiscard]] std::unique_ptr<ToolUse> use(mcp::Server& server, const ToolRequest& request, ToolListener listener,
                                             std::function<void()> signed_in);
  // What a browser came back with. False: nothing that began here waits for it.
  [[nodiscard]] bool came_back(const http::Query& back);
  // That server will be gone: what waits for it ends.
  void forget(const mcp::Server& server);

 private:
  struct Asking;
  class Use;
  void ask(const std::shared_ptr<Asking>& asking, const Result<std::string>& url);

  net::Loop& loop_;
  std::vector<std::weak_ptr<Asking>> asking_;  // those that are not over; others may be among them
};

}  // namespace agentd::runtime
