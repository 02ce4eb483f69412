// StdioTransport: an MCP server that is a program: messages are lines of its stdin and stdout, what it complains of goes to the log.
// Confined to its loop's thread. The program is in a group of its own and ends with the transport, by the kill ladder of Children.
#pragma once

#include <memory>
#include <string>

#include "config/agent.h"
#include "mcp/server.h"
#include "mcp/transport.h"
#include "process/child.h"

namespace agentd::mcp {

class StdioTransport final : public Transport {
 public:
  // Errors: kUnavailable, when the machine is out of processes. A program that is not there is told by `closed`.
  [[nodiscard]] static Result<std::unique_ptr<StdioTransport>> start(process::Children& children,
                                                                     const config::McpServer& config, Events events,
                                                                     const Server::Events& told);
  ~StdioTransport() override;

  void send(const Json& message) override;
  void negotiated(const std::string&) override {}

 private:
  struct Link;  // what the child's callbacks hold on to
  StdioTransport(process::Children& children, std::shared_ptr<Link> link, process::ChildId node)
      : children_(children), link_(std::move(link)), node_(node) {}

  process::Children& children_;
  const std::shared_ptr<Link> link_;
  const process::ChildId node_;
};

}  // namespace agentd::mcp
