// McpTools: the tools of the MCP servers that the configuration names, as the model sees them: "<server>__<tool>".
//
// The servers are started with it and kept up; a reload starts, ends and leaves alone what it has to. Confined to the core thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/agent.h"
#include "http/client.h"
#include "mcp/server.h"
#include "net/loop.h"
#include "process/child.h"
#include "runtime/child_list.h"
#include "runtime/instance.h"
#include "runtime/mcp_sign_in.h"
#include "runtime/tools.h"

namespace agentd::runtime {

class McpTools final : public ToolSource {
 public:
  // The references outlive this.
  McpTools(net::Loop& loop, const Clock& clock, process::Children& processes, ChildList& children, http::Client& client,
           Instance& instance, std::string redirect_uri);

  void set_servers(const std::vector<config::McpServer>& servers);
  // All of them end; for the stop of the daemon.
  void stop() { servers_.clear(); }

  void list(std::vector<ToolFacts>& out) const override;
  [[nodiscard]] bool checks_arguments() const override { return true; }
  // Until each server was there, or lost, for the first time; at most ten seconds.
  [[nodiscard]] bool is_starting() const override;
  [[nodiscard]] std::unique_ptr<ToolUse> use(ToolRequest request, ToolListener listener) override;
  // What a browser came back with from a sign-in. False: none waits for it.
  [[nodiscard]] bool came_back(const http::Query& back) { return sign_ins_.came_back(back); }

 private:
  [[nodiscard]] std::unique_ptr<mcp::Server> start(const config::McpServer& server);
  struct Named {
    std::string name;
    mcp::Server& server;
    const mcp::Tool* tool;  // null: signing in
  };
  [[nodiscard]] std::vector<Named> named() const;
  [[nodiscard]] std::unique_ptr<ToolUse> sign_in(mcp::Server& server, const ToolRequest& request,
                                                 ToolListener listener);

  struct Known {
    std::unique_ptr<mcp::Server> server;
    std::int64_t since_ms = 0;
    mutable bool settled = false;
  };

  net::Loop& loop_;
  const Clock& clock_;
  process::Children& processes_;
  ChildList& children_;
  http::Client& client_;
  Instance& instance_;
  const std::string redirect_uri_;
  McpSignIns sign_ins_;
  std::map<std::string, Known> servers_;  // by name
};

// Names by which models know tools: at most 64 of the characters that models take, no two the same.
class ToolNames {
 public:
  // Of the next tool. The same tools in the same order have the same names.
  [[nodiscard]] std::string next(const std::string& server, const std::string& tool);

 private:
  std::set<std::string> given_;
};

}  // namespace agentd::runtime
