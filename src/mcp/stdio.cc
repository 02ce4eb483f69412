#include "mcp/stdio.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/redact.h"
#include "mcp/results.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kMessageBytes = 16U << 20U;
constexpr std::size_t kComplaintBytes = 500;

// Of two variables of one name, which one a program sees is its own affair.
void set_variable(process::ChildSpec& spec, const std::string& name, const std::string& value) {
  std::erase_if(spec.env, [&](const auto& other) { return other.first == name; });
  spec.env.emplace_back(name, value);
}

process::ChildSpec spec_of(const config::McpServer& config) {
  process::ChildSpec spec{.argv = config.command, .env = process::base_environment(), .cwd = config.cwd};
  for (const auto& [name, value] : config.env) set_variable(spec, name, value);
  for (const auto& [name, secret] : config.secret_env) set_variable(spec, name, secret.value);
  return spec;
}

}  // namespace

struct StdioTransport::Link {
  std::string name;
  Redactor redactor;  // programs complain about what they were given
  Events events;
  bool open = true;
  std::string complaint = {};  // the last line of its stderr

  void take(std::string_view line) const {
    const auto message = parse_json(line, {.bytes = kMessageBytes});
    if (!message) {
      return log::debug("an MCP server wrote what is no message", {{"server", name}, {"why", message.error().message}});
    }
    if (!message->is_array()) return give(*message);
    for (const Json& one : *message) give(one);
  }

  void give(const Json& message) const {
    if (open && message.is_object()) events.received(message, nullptr);
  }

  void complain(std::string_view line) {
    complaint = cut_text(redactor.redact(to_utf8(line)), kComplaintBytes);
    log::debug("an MCP server says", {{"server", name}, {"line", complaint}});
  }

  void end(const process::ChildResult& result) {
    if (!open) return;
    const bool by_us = result.end == process::ChildResult::End::kCancelled;
    const std::string why = by_us ? "it did not read what it was told" : result.reason;
    events.closed(complaint.empty() ? why : fmt::format("{}; its last words: {}", why, complaint));
  }
};

Result<std::unique_ptr<StdioTransport>> StdioTransport::start(process::Children& children,
                                                              const config::McpServer& config, Events events,
                                                              const Server::Events& told) {
  const auto link = std::make_shared<Link>(config.name, redactor_of(config), std::move(events));
  process::ChildSpec spec = spec_of(config);
  spec.on_line = [link](std::string_view line) { link->take(line); };
  spec.on_err_line = [link](std::string_view line) { link->complain(line); };
  const auto node = std::make_shared<process::ChildId>(0);
  auto started = children.spawn(std::move(spec), [link, node, ended = told.child_ended](const auto& result) {
    ended(*node);
    link->end(result);
  });
  if (!started) return std::unexpected(std::move(started.error()));
  *node = started->id;
  told.child_started(started->id, started->pid);
  return std::unique_ptr<StdioTransport>(new StdioTransport(children, link, started->id));
}

StdioTransport::~StdioTransport() {
  link_->open = false;
  children_.cancel(node_);
}

void StdioTransport::send(const Json& message) {
  // One that does not read is of no use, and is made to end; of one that has ended this says nothing new.
  if (!children_.write(node_, dump_json(message) + "\n")) children_.cancel(node_);
}

}  // namespace agentd::mcp
