#include "runtime/mcp_sign_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/gate.h"

namespace agentd::runtime {
namespace {

constexpr char kQuestion[] = "sign-in";
constexpr char kOperator[] = "operator";

// All that can be said to it by a message: the answer comes from elsewhere.
Json cancelled_schema() {
  return {{"type", "object"},
          {"properties", {{"decision", {{"type", "string"}, {"enum", {"cancel"}}}}}},
          {"required", {"decision"}}};
}

std::string state_of(const http::Query& back) {
  const auto state = std::ranges::find(back, "state", &std::pair<std::string, std::string>::first);
  return state == back.end() ? "" : state->second;
}

}  // namespace

struct McpSignIns::Asking {
  mcp::Server* server;
  ToolListener listener;
  std::function<void()> signed_in;

  // Once.
  void end(ToolOutcome outcome) {
    server = nullptr;
    if (listener.withdraw) listener.withdraw(kQuestion);
    if (auto done = std::exchange(listener.done, nullptr)) done(std::move(outcome));
  }
};

class McpSignIns::Use final : public ToolUse {
 public:
  explicit Use(std::shared_ptr<Asking> asking) : asking_(std::move(asking)) {}

 private:
  const std::shared_ptr<Asking> asking_;
};

ToolFacts McpSignIns::facts(std::string name, const std::string& server) {
  return {
      .spec = {.name = std::move(name),
               .description = fmt::format("The MCP server {} wants a person to sign in before its tools can be used. "
                                          "This asks for it, and ends when they have.",
                                          server),
               .schema = {{"type", "object"}, {"properties", Json::object()}}},
      .read_only = true,
      .is_own = true};
}

std::unique_ptr<ToolUse> McpSignIns::use(mcp::Server& server, const ToolRequest& request, ToolListener listener,
                                         std::function<void()> signed_in) {
  if (request.principal != kOperator) {
    return done_use(loop_,
                    {.text = "Only the operator may sign this agent in: ask them to do so in a task of their own.",
                     .is_error = true},
                    std::move(listener));
  }
  std::erase_if(asking_, [](const auto& known) { return known.expired(); });
  auto asking = std::make_shared<Asking>(&server, std::move(listener), std::move(signed_in));
  asking_.push_back(asking);
  server.begin_sign_in([this, weak = std::weak_ptr(asking)](const Result<std::string>& url) {
    if (const auto known = weak.lock(); known && known->server != nullptr) ask(known, url);
  });
  return std::make_unique<Use>(std::move(asking));
}

void McpSignIns::ask(const std::shared_ptr<Asking>& asking, const Result<std::string>& url) {
  const std::string& name = asking->server->config().name;
  if (!url) {
    return asking->end(
        {.text = fmt::format("Nobody can sign in to {}: {}.", name, url.error().message), .is_error = true});
  }
  if (!asking->listener.elicit) return asking->end({.text = "Nobody can be asked to sign in.", .is_error = true});
  asking->listener.elicit({.id = kQuestion,
                           .message = fmt::format("Sign in to {}: {}", name, *url),
                           .schema = cancelled_schema(),
                           .about = {{"kind", kSignInKind}, {"server", name}, {"url", *url}},
                           .answer = [&loop = loop_, weak = std::weak_ptr(asking)](const Json&) {
                             // Who answers does not expect the use to be done within that.
                             loop.post([weak] {
                               if (const auto known = weak.lock())
                                 known->end({.text = "Nobody signed in.", .is_error = true});
                             });
                           }});
}

bool McpSignIns::came_back(const http::Query& back) {
  const std::string state = state_of(back);
  for (const auto& weak : asking_) {
    const auto asking = weak.lock();
    if (!asking || asking->server == nullptr || !asking->server->waits_for(state)) continue;
    asking->server->finish_sign_in(back, [weak](const Status& status) {
      const auto known = weak.lock();
      if (!known || known->server == nullptr) return;
      if (status) known->signed_in();
      known->end(status ? ToolOutcome{.text = "Signed in. Its tools are there now."}
                        : ToolOutcome{.text = fmt::format("The sign-in failed: {}.", status.error().message),
                                      .is_error = true});
    });
    return true;
  }
  return false;
}

void McpSignIns::forget(const mcp::Server& server) {
  for (const auto& weak : std::vector(asking_)) {
    const auto asking = weak.lock();
    if (asking && asking->server == &server)
      asking->end({.text = "The MCP server was taken out of the configuration.", .is_error = true});
  }
}

}  // namespace agentd::runtime
