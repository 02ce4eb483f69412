#include "mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/glob.h"
#include "base/log.h"
#include "mcp/authorization.h"
#include "mcp/session.h"
#include "mcp/stdio.h"
#include "mcp/streamable_http.h"
#include "schema/validator.h"

namespace agentd::mcp {
namespace {

constexpr std::int64_t kFirstRetryMs = 500;
constexpr std::int64_t kLastRetryMs = 60'000;
constexpr std::int64_t kSettledMs = 60'000;  // a server that has been there for so long has recovered

}  // namespace

struct Call::Impl {
  explicit Impl(net::Loop& loop) : at_once(loop) {}
  ~Impl() {
    if (const auto asked = session.lock()) asked->cancel(id);
  }
  std::weak_ptr<Session> session;
  std::uint64_t id = 0;
  net::Timer at_once;  // of one that fails before it is asked
};

Call::Call(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Call::~Call() = default;
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;

struct Server::Impl {
  Impl(net::Loop& its_loop, process::Children& its_children, http::Client& its_client, config::McpServer its_config,
       Events its_events, SignIn sign_in)
      : loop(its_loop),
        children(its_children),
        client(its_client),
        config(std::move(its_config)),
        events(std::move(its_events)),
        retry(its_loop),
        settled(its_loop) {
    if (!config.url.empty())
      authorization.emplace(client, config, std::move(sign_in), [this] { events.tools_changed(); });
  }
  ~Impl() {
    if (session) session->end("it was taken out of the configuration");
  }

  void connect();
  [[nodiscard]] Result<std::unique_ptr<Transport>> transport();
  void take_tools(std::vector<Tool> found);
  void lost(const std::string& why);
  [[nodiscard]] Status check(const std::string& tool, const Json& arguments);
  [[nodiscard]] Status check_arguments(const Tool& tool, const Json& arguments);

  net::Loop& loop;
  process::Children& children;
  http::Client& client;
  const config::McpServer config;
  const Events events;
  std::optional<Authorization> authorization;  // over HTTP
  net::Timer retry, settled;
  std::int64_t wait_ms = kFirstRetryMs;
  std::shared_ptr<Session> session;  // null between two
  bool ready = false;
  std::string state = "starting";
  std::vector<Tool> tools;
  std::map<std::string, std::optional<schema::Validator>> validators;  // by tool; nothing: its schema cannot be held
};

void Server::Impl::connect() {
  state = "starting";
  session = std::make_shared<Session>(
      loop, config,
      Session::Events{.listed = [this](std::vector<Tool> found) { take_tools(std::move(found)); },
                      .lost = [this](const std::string& why) { lost(why); }});
  auto made = transport();
  if (!made) return lost(made.error().message);
  session->start(std::move(*made));
}

Result<std::unique_ptr<Transport>> Server::Impl::transport() {
  if (config.url.empty()) return StdioTransport::start(children, config, session->ears(), events);
  return make_http_transport(loop, client, config, *authorization, session->ears());
}

void Server::Impl::take_tools(std::vector<Tool> found) {
  std::erase_if(found, [this](const Tool& tool) {
    return !config.tools.empty() &&
           std::ranges::none_of(config.tools, [&](const std::string& glob) { return matches_glob(glob, tool.name); });
  });
  if (!std::exchange(ready, true)) {
    log::info("an MCP server is there", {{"server", config.name}, {"tools", found.size()}});
    state = "ready";
    settled.arm(kSettledMs, [this] { wait_ms = kFirstRetryMs; });
  }
  if (found == tools) return;
  tools = std::move(found);
  validators.clear();
  events.tools_changed();
}

// It is tried again, later each time. The session may be calling us: it ends in the next turn of the loop.
void Server::Impl::lost(const std::string& why) {
  const bool needs_person = authorization && authorization->wants_person();
  if (!needs_person)
    log::warn("an MCP server is not there", {{"server", config.name}, {"why", why}, {"again_in_ms", wait_ms}});
  ready = false;
  state = why;
  settled.cancel();
  retry.arm(0, [this, why, needs_person] {
    std::exchange(session, nullptr)->end(why);
    if (needs_person) return;  // who signs in connects it
    retry.arm(wait_ms, [this] { connect(); });
    wait_ms = std::min(2 * wait_ms, kLastRetryMs);
  });
}

// Whether the call may be made.
Status Server::Impl::check(const std::string& tool, const Json& arguments) {
  const auto known = std::ranges::find(tools, tool, &Tool::name);
  if (known != tools.end() && ready) return check_arguments(*known, arguments);
  if (ready) return fail(Code::kInvalidParams, fmt::format("the MCP server {} has no tool '{}'", config.name, tool));
  return fail(Code::kUnavailable, fmt::format("the MCP server {} is not there: {}", config.name, state));
}

Status Server::Impl::check_arguments(const Tool& tool, const Json& arguments) {
  auto known = validators.find(tool.name);
  if (known == validators.end()) {
    auto compiled = schema::compile(tool.schema);
    if (!compiled) {
      log::debug("a tool's schema cannot be checked here; the server checks the arguments",
                 {{"server", config.name}, {"tool", tool.name}, {"why", compiled.error().message}});
    }
    known = validators.emplace(tool.name, compiled ? std::optional(*std::move(compiled)) : std::nullopt).first;
  }
  if (!known->second) return {};
  const auto misses = known->second->validate(arguments, "arguments");
  if (misses.empty()) return {};
  std::string message = "the arguments do not fit:";
  for (const FieldViolation& miss : misses) message += fmt::format(" {} {};", miss.field, miss.description);
  message.pop_back();
  return fail(Code::kInvalidParams, std::move(message));
}

Server::Server(net::Loop& loop, process::Children& children, http::Client& client, config::McpServer config,
               Events events, SignIn sign_in)
    : impl_(std::make_unique<Impl>(loop, children, client, std::move(config), std::move(events), std::move(sign_in))) {
  impl_->connect();
}
Server::~Server() = default;

const config::McpServer& Server::config() const { return impl_->config; }
const std::vector<Tool>& Server::tools() const { return impl_->tools; }
std::string Server::state() const { return impl_->state; }

bool Server::wants_sign_in() const { return impl_->authorization && impl_->authorization->wants_person(); }
bool Server::waits_for(const std::string& state) const {
  return impl_->authorization && impl_->authorization->waits_for(state);
}
void Server::begin_sign_in(std::function<void(Result<std::string>)> told) {
  impl_->authorization->begin(std::move(told));
}
void Server::finish_sign_in(const http::Query& back, std::function<void(Status)> done) {
  impl_->authorization->finish(back, [impl = impl_.get(), done = std::move(done)](const Status& status) {
    if (status && !impl->session && !impl->retry.armed()) impl->connect();
    done(status);
  });
}

Call Server::call(const std::string& tool, Json arguments, CallListener listener) {
  auto call = std::make_shared<Call::Impl>(impl_->loop);
  if (Status may = impl_->check(tool, arguments); !may) {
    call->at_once.arm(0, [done = std::move(listener.done), error = std::move(may.error())]() mutable {
      done(std::unexpected(std::move(error)));
    });
  } else {
    call->session = impl_->session;
    call->id = impl_->session->call(tool, std::move(arguments), std::move(listener));
  }
  return Call(std::move(call));
}

}  // namespace agentd::mcp
