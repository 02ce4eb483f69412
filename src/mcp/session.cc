#include "mcp/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/version.h"
#include "mcp/fields.h"
#include "mcp/results.h"

namespace agentd::mcp {
namespace {

// Ours first; a later one says the same of all that we use.
constexpr std::array<std::string_view, 4> kRevisions = {"2025-06-18", "2025-03-26", "2024-11-05", "2025-11-25"};
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr std::size_t kMessageBytes = 1'000;
constexpr std::size_t kQuestionBytes = 4'000;
constexpr std::size_t kMostAsked = 16;  // questions to people at a time
constexpr int kMostPages = 100;         // of a list of tools

Json introduction() {
  return {{"protocolVersion", kRevisions.front()},
          {"capabilities", {{"elicitation", Json::object()}}},
          {"clientInfo", {{"name", "agentd"}, {"version", kVersion}}}};
}

double seconds(std::int64_t ms) { return static_cast<double>(ms) / 1'000; }

}  // namespace

Session::Session(net::Loop& loop, config::McpServer config, Events events)
    : loop_(loop),
      config_(std::move(config)),
      redactor_(redactor_of(config_)),
      events_(std::move(events)),
      start_(loop) {}

Transport::Events Session::ears() {
  return {.received = [this](const Json& message, const Json& within) { receive(message, within); },
          .closed = [this](const std::string& why) { lose(why); }};
}

void Session::start(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  start_.arm(config_.start_timeout_ms, [this] {
    lose(fmt::format("it has not said what its tools are after {} s", seconds(config_.start_timeout_ms)));
  });
  request("initialize", introduction(), [this](const Result<Json>& result) { take_introduction(result); });
}

void Session::end(const std::string& why) {
  events_ = {};
  transport_ = nullptr;
  start_.cancel();
  loop_.post([self = shared_from_this(), why] {
    // One by one, for what is called may take back another.
    while (!self->pending_.empty()) {
      const auto pending = self->take(self->pending_.begin()->first);
      if (!pending->is_call) continue;
      pending->done(
          fail(Code::kUnavailable, fmt::format("the MCP server {} is not there: {}", self->config_.name, why)));
    }
  });
}

void Session::lose(const std::string& why) {
  if (const auto lost = std::exchange(events_.lost, nullptr)) lost(why);
}

// Requests.

void Session::request(const std::string& method, Json params, Done done) {
  auto pending = std::make_shared<Pending>(loop_);
  pending->done = std::move(done);
  send_request(++last_id_, method, std::move(params), std::move(pending));
}

std::uint64_t Session::call(const std::string& tool, Json arguments, CallListener listener) {
  const std::uint64_t id = ++last_id_;
  auto pending = std::make_shared<Pending>(loop_);
  pending->is_call = true;
  pending->done = [done = std::move(listener.done)](Result<Json> result) mutable {
    if (!result) return done(std::unexpected(std::move(result.error())));
    done(read_result(*result));
  };
  pending->listener = std::move(listener);
  send_request(id, "tools/call",
               {{"name", tool}, {"arguments", std::move(arguments)}, {"_meta", {{"progressToken", id}}}},
               std::move(pending));
  return id;
}

void Session::send_request(std::uint64_t id, const std::string& method, Json params, std::shared_ptr<Pending> pending) {
  pending_.emplace(id, std::move(pending));
  arm(id);
  Json message = {{"id", id}, {"method", method}};
  if (!params.is_null()) message["params"] = std::move(params);
  send(std::move(message));
}

void Session::notify(const std::string& method, Json params) {
  Json message = {{"method", method}};
  if (!params.is_null()) message["params"] = std::move(params);
  send(std::move(message));
}

void Session::send(Json message) {
  message["jsonrpc"] = "2.0";
  if (transport_) transport_->send(message);
}

void Session::arm(std::uint64_t id) {
  Pending& pending = *pending_.at(id);
  pending.timer.arm(pending.is_call ? config_.call_timeout_ms : config_.start_timeout_ms, [this, id] { expire(id); });
}

void Session::expire(std::uint64_t id) {
  const auto pending = take(id);
  const std::int64_t ms = pending->is_call ? config_.call_timeout_ms : config_.start_timeout_ms;
  if (pending->is_call) {
    notify("notifications/cancelled", {{"requestId", id}, {"reason", "timed out"}});
    request("ping", nullptr, [this](const Result<Json>& pong) {
      if (!pong && pong.error().code == Code::kTimeout) lose("it does not answer any more");
    });
  }
  pending->done(
      fail(Code::kTimeout, fmt::format("the MCP server {} gave no answer in {} s", config_.name, seconds(ms))));
}

void Session::cancel(std::uint64_t id) {
  if (take(id)) notify("notifications/cancelled", {{"requestId", id}});
}

// Nothing waits for it any more, nor for what it asked; null when nothing did.
std::shared_ptr<Session::Pending> Session::take(std::uint64_t id) {
  const auto node = pending_.extract(id);
  if (!node) return nullptr;
  node.mapped()->timer.cancel();
  std::erase_if(asked_, [id](const auto& asked) { return asked.second == id; });
  return node.mapped();
}

// The way in.

void Session::take_introduction(const Result<Json>& result) {
  if (!result) return lose(result.error().message);
  const std::string version = text_field(*result, "protocolVersion");
  if (std::ranges::find(kRevisions, version) == kRevisions.end()) {
    return lose(fmt::format("it speaks revision '{}' of MCP, and not {}", cut_text(version, 100), kRevisions.front()));
  }
  transport_->negotiated(version);
  notify("notifications/initialized");
  if (field(field(*result, "capabilities"), "tools").is_object()) return list();
  tell_tools();
}

void Session::list() {
  listing_ = true;
  stale_ = false;
  found_.clear();
  pages_ = 0;
  list_page("");
}

void Session::list_page(const std::string& cursor) {
  request("tools/list", cursor.empty() ? Json() : Json{{"cursor", cursor}},
          [this](const Result<Json>& page) { take_page(page); });
}

void Session::take_page(const Result<Json>& page) {
  if (!page && !listed_) return lose(page.error().message);
  if (page) {
    const bool all = read_tools(*page, found_);
    const std::string next = text_field(*page, "nextCursor");
    if (all && !next.empty() && ++pages_ < kMostPages) return list_page(next);
    if (!all || !next.empty()) {
      log::warn("an MCP server has too many tools; the others are left out",
                {{"server", config_.name}, {"tools", found_.size()}});
    }
    tell_tools();
  } else {
    log::warn("an MCP server does not list its tools again", {{"server", config_.name}, {"why", page.error().message}});
  }
  listing_ = false;
  if (stale_) list();
}

void Session::tell_tools() {
  listed_ = true;
  start_.cancel();
  events_.listed(std::exchange(found_, {}));
}

// What it says.

void Session::receive(const Json& message, const Json& within) {
  const bool asks = message.contains("method");
  if (asks && message.contains("id")) return take_request(message, within);
  asks ? take_notification(message) : take_answer(message);
}

void Session::take_answer(const Json& message) {
  const Json& id = field(message, "id");
  // Late, of another, or twice: nobody waits for it.
  const auto pending = id.is_number_unsigned() ? take(id.get<std::uint64_t>()) : nullptr;
  if (!pending) return;
  const auto result = message.find("result");
  if (result != message.end()) return pending->done(*result);
  pending->done(std::unexpected(error_of(field(message, "error"))));
}

Error Session::error_of(const Json& error) const {
  const Json& code = field(error, "code");
  const std::string message = cut_text(redactor_.redact(text_field(error, "message")), kMessageBytes);
  return {.code = code == kInvalidParams || code == kMethodNotFound ? Code::kInvalidParams : Code::kUnavailable,
          .message = fmt::format("the MCP server {} refuses: {}", config_.name, message)};
}

void Session::take_request(const Json& message, const Json& within) {
  const Json& id = message["id"];
  const std::string method = text_field(message, "method");
  if (method == "elicitation/create") return elicit(id, field(message, "params"), within);
  if (method == "ping") return send({{"id", id}, {"result", Json::object()}});
  send({{"id", id}, {"error", {{"code", kMethodNotFound}, {"message", "agentd does not have this method"}}}});
}

void Session::take_notification(const Json& message) {
  const std::string method = text_field(message, "method");
  const Json& params = field(message, "params");
  if (method == "notifications/progress") return take_progress(params);
  if (method == "notifications/cancelled") return withdraw(dump_json(field(params, "requestId")));
  if (method == "notifications/message") {
    return log::debug(
        "an MCP server logs",
        {{"server", config_.name}, {"line", cut_text(dump_json(redactor_.redact_json(params)), kMessageBytes)}});
  }
  if (method != "notifications/tools/list_changed" || !(listed_ || listing_)) return;
  listing_ ? void(stale_ = true) : list();
}

void Session::take_progress(const Json& params) {
  const Json& token = field(params, "progressToken");
  const auto known = token.is_number_unsigned() ? pending_.find(token.get<std::uint64_t>()) : pending_.end();
  if (known == pending_.end() || !known->second->is_call) return;
  const auto [id, pending] = *known;  // it may be cancelled by what is called
  if (pending->timer.armed()) arm(id);
  if (!pending->listener.progress) return;
  pending->listener.progress(number_field(params, "progress"), number_field(params, "total"),
                             cut_text(text_field(params, "message"), kMessageBytes));
}

// Questions to people. Unless the stream tells which call one is of, it is taken to be of the newest; but nobody is asked what may be of
// somebody else's call.

std::uint64_t Session::asking_call(const Json& within) const {
  const auto can_ask = [](const auto& each) { return each.second->listener.elicit != nullptr; };
  if (within.is_number_unsigned()) {
    const auto call = pending_.find(within.get<std::uint64_t>());
    return call != pending_.end() && can_ask(*call) ? call->first : 0;
  }
  std::uint64_t newest = 0;
  for (const auto& call : pending_) {
    if (!can_ask(call)) continue;
    if (newest != 0 && call.second->listener.owner != pending_.at(newest)->listener.owner) return 0;
    newest = call.first;
  }
  return newest;
}

void Session::elicit(const Json& id, const Json& params, const Json& within) {
  const std::uint64_t call = asking_call(within);
  const std::string asked = dump_json(id);
  if (call == 0 || asked_.size() >= kMostAsked || !asked_.emplace(asked, call).second) {
    log::info("an MCP server asks, and it is not known whom", {{"server", config_.name}});
    return send({{"id", id}, {"result", {{"action", "cancel"}}}});
  }
  const auto pending = pending_.at(call);
  pending->timer.cancel();
  pending->listener.elicit({.id = asked,
                            .message = cut_text(text_field(params, "message"), kQuestionBytes),
                            .schema = field(params, "requestedSchema"),
                            .answer = [weak = weak_from_this(), asked](Json answer) {
                              if (const auto self = weak.lock()) self->answer(asked, std::move(answer));
                            }});
}

void Session::answer(const std::string& asked, Json answer) {
  if (!asked_.contains(asked)) return;  // it is not waited for any more
  resume(asked);
  send({{"id", Json::parse(asked)}, {"result", std::move(answer)}});
}

void Session::withdraw(const std::string& asked) {
  const auto known = asked_.find(asked);
  if (known == asked_.end()) return;
  const auto pending = pending_.at(known->second);
  resume(asked);
  if (pending->listener.withdraw) pending->listener.withdraw(asked);
}

// The server has its answer, or does without: the clock of its call goes on, unless that waits for another.
void Session::resume(const std::string& asked) {
  const auto node = asked_.extract(asked);
  if (!node) return;
  const std::uint64_t id = node.mapped();
  if (std::ranges::none_of(asked_, [id](const auto& other) { return other.second == id; })) arm(id);
}

}  // namespace agentd::mcp
