#include "runtime/sign_in.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/digest.h"
#include "base/ids.h"

namespace agentd::runtime {
namespace {

using access::DeviceCodes;
using access::DeviceRequest;
using access::Session;
using access::SessionKind;
using config::Role;

constexpr std::int64_t kLookAgainMs = 60'000;  // for sessions that expire, because the wall clock may jump
constexpr std::size_t kSidDigits = 16;
constexpr std::size_t kTokenDigits = 64;
// Names that stand for somebody else in the daemon's own words.
constexpr std::array<std::string_view, 5> kReserved = {"operator", "anonymous", "any", "agent", "agentd"};

std::unexpected<Error> refuse(const std::string& field, const std::string& message) {
  return std::unexpected(
      Error{.code = Code::kInvalidParams, .message = field + " " + message, .violations = {{field, message}}});
}

std::string new_token() { return std::string(access::kTokenPrefix) + random_hex(kTokenDigits); }

std::string text(Role role) { return std::string(access::to_string(role)); }

Role role_of(const std::string& scope) { return scope == "operator" ? Role::kOperator : Role::kUser; }

Json to_json(const DeviceRequest& request) {
  return {{"user_code", request.user_code},
          {"client_id", request.ask.client_id},
          {"scope", text(request.ask.scope)},
          {"peer", request.ask.peer}};
}

feed::Auth event(const char* what, const DeviceRequest& request) {
  return {.event = what,
          .client_id = request.ask.client_id,
          .scope = text(request.ask.scope),
          .user_code = request.user_code,
          .peer = request.ask.peer};
}

}  // namespace

SignIn::SignIn(net::Loop& loop, Journal& journal, feed::Feed& feed, const Clock& clock, access::Sessions& sessions,
               const config::Snapshot& config, Audit& audit)
    : journal_(journal),
      feed_(feed),
      clock_(clock),
      sessions_(sessions),
      config_(config.a2a.device_grant),
      rules_(config.a2a.principals),
      persist_(config.a2a.sessions_persist),
      codes_(clock, config_.code_ttl_ms),
      launch_codes_(clock),
      expiring_(loop),
      audit_(audit) {}

Status SignIn::load() {
  const auto rows = journal_.store().sessions();
  if (!rows) return std::unexpected(rows.error());
  for (const store::SessionRow& row : *rows) {
    auto session = access::from_body(row.sid, row.body);
    if (!session) return std::unexpected(session.error());
    // What is no longer offered is over for good, and does not come back when it is offered again.
    const bool offered = session->kind == SessionKind::kLaunch ||
                         (enabled() && std::ranges::find(config_.scopes, text(session->role)) != config_.scopes.end());
    if (persist_ && offered) {
      sessions_.add(*std::move(session));
    } else {
      journal_.put(store::DropSession{row.sid});
    }
  }
  expire();
  return {};
}

DeviceCodes::Asked SignIn::ask(access::DeviceAsk ask) {
  auto asked = codes_.ask(std::move(ask));
  if (const auto request = codes_.find(asked.user_code)) {
    feed_.push(feed::Visibility::operators(), event("pending", *request));
    audit_.done(nullptr, "auth.device.ask", to_json(*request));
  }
  return asked;
}

SignIn::Answer SignIn::poll(std::string_view device_code, std::string_view client_id) {
  auto polled = codes_.poll(device_code, client_id);
  Answer answer{.poll = polled.poll, .token = {}};
  if (polled.poll != DeviceCodes::Poll::kApproved) return answer;
  answer.token = new_token();
  answer.scope = polled.approval.scope;
  Session session{.sid = "ds_" + random_hex(kSidDigits),
                  .token_hash = sha256_hex(answer.token),
                  .name = std::move(polled.approval.name),
                  .role = polled.approval.scope,
                  .client_id = polled.request->ask.client_id,
                  .approved_by = std::move(polled.approval.approved_by),
                  .created_ms = clock_.wall_ms(),
                  .expires_ms = clock_.wall_ms() + config_.token_ttl_ms};
  const access::Caller caller = caller_of(session);
  audit_.done(&caller, "auth.device.token", {{"client_id", session.client_id}, {"sid", session.sid}});
  begin(std::move(session));
  return answer;
}

std::string SignIn::launch_code(access::LaunchBinding binding) { return launch_codes_.issue(std::move(binding)); }

std::optional<std::string> SignIn::launch(std::string_view code, const access::LaunchBinding& shown,
                                          const std::string& peer) {
  if (!launch_codes_.redeem(code, shown)) return std::nullopt;
  std::string token = new_token();
  Session session{.sid = "ls_" + random_hex(kSidDigits),
                  .kind = SessionKind::kLaunch,
                  .token_hash = sha256_hex(token),
                  .name = {},
                  .role = Role::kOperator,
                  .client_id = shown.client_id,
                  .approved_by = "operator",
                  .created_ms = clock_.wall_ms(),
                  .expires_ms = clock_.wall_ms() + kLaunchTtlMs};
  const access::Caller caller = caller_of(session);
  audit_.done(&caller, "auth.launch", {{"client_id", session.client_id}, {"sid", session.sid}, {"peer", peer}});
  feed_.push(feed::Visibility::operators(), feed::Auth{.event = "launch",
                                                       .client_id = session.client_id,
                                                       .scope = text(session.role),
                                                       .peer = peer,
                                                       .sid = session.sid});
  begin(std::move(session));
  return token;
}

void SignIn::begin(Session session) {
  if (persist_) {
    journal_.put(
        store::SessionRow{.sid = session.sid, .expires_ms = session.expires_ms, .body = access::to_body(session)});
  }
  sessions_.add(std::move(session));
  expire();
}

void SignIn::give_up(std::string_view token) {
  const std::string hash = sha256_hex(token);
  for (const Session& session : end([&](const Session& one) { return one.token_hash == hash; }, true)) {
    const access::Caller caller = caller_of(session);
    audit_.done(&caller, "auth.sessions.give_up", {{"sid", session.sid}});
  }
}

Json SignIn::pending() const {
  Json out = Json::array();
  for (const DeviceRequest& request : codes_.pending()) {
    Json one = to_json(request);
    one["requested_at"] = request.requested_ms;
    one["expires_at"] = request.expires_ms;
    out.push_back(std::move(one));
  }
  return {{"pending", out}};
}

Result<Done> SignIn::approve(const Json& args, const std::string& by, const std::string& field) {
  const std::string code = args["user_code"];
  const std::string name = args["as"];
  if (std::ranges::find(kReserved, name) != kReserved.end()) return refuse(field + ".as", "is a reserved name");
  const auto asked = codes_.find(code);
  if (!asked) return refuse(field + ".user_code", "is not a code that waits; 'agentd devices' lists those that do");
  const Role scope = args.contains("scope") ? role_of(args["scope"]) : asked->ask.scope;
  if (scope == Role::kOperator && asked->ask.scope != Role::kOperator) {
    return refuse(field + ".scope", "is wider than what was asked for, which is user");
  }
  const bool existing =
      std::ranges::any_of(sessions_.all(), [&](const Session& session) { return session.name == name; }) ||
      std::ranges::any_of(rules_, [&](const auto& rule) { return rule.id == name && rule.role == scope; });
  codes_.approve(code, {.name = name, .approved_by = by, .scope = scope});
  feed::Auth approved = event("approved", *asked);
  approved.scope = text(scope);
  approved.name = name;
  feed_.push(feed::Visibility::operators(), approved);
  Json out = to_json(*asked);
  out["scope"] = text(scope);
  out["principal"] = Session{.name = name, .role = scope}.principal();
  const Json target = out;
  out["existing"] = existing;
  return Done{.result = {{"approved", std::move(out)}}, .target = target};
}

Result<Done> SignIn::deny(const Json& args, const std::string& field) {
  std::vector<std::string> codes;
  if (args.contains("user_code")) {
    codes.push_back(args["user_code"]);
  } else {
    for (const DeviceRequest& request : codes_.pending()) codes.push_back(request.user_code);
  }
  Json denied = Json::array();
  for (const std::string& code : codes) {
    const auto request = codes_.deny(code);
    if (!request && args.contains("user_code")) return refuse(field + ".user_code", "is not a code that waits");
    if (!request) continue;
    denied.push_back(request->user_code);
    feed_.push(feed::Visibility::operators(), event("denied", *request));
  }
  return Done{.result = {{"denied", denied.size()}}, .target = {{"user_codes", denied}}};
}

Json SignIn::sessions() const {
  Json out = Json::array();
  for (const Session& session : sessions_.all()) out.push_back(access::to_json(session));
  return {{"sessions", out}};
}

Done SignIn::revoke(const Json& args) {
  const auto which = [&](const Session& session) {
    if (args.contains("sid")) return session.sid == args["sid"].get_ref<const std::string&>();
    return args.contains("all") || session.name == args["name"].get_ref<const std::string&>();
  };
  Json sids = Json::array();
  for (const Session& session : end(which, true)) sids.push_back(session.sid);
  Json target = {{"sids", sids}};
  // Who was let in and has not come for the token yet would otherwise come after it.
  const auto withdrawn = codes_.withdraw([&](const access::Approval& approval) {
    return args.contains("all") ||
           (args.contains("name") && approval.name == args["name"].get_ref<const std::string&>());
  });
  for (const DeviceRequest& request : withdrawn) {
    target["user_codes"].push_back(request.user_code);
    feed_.push(feed::Visibility::operators(), event("denied", request));
  }
  return {.result = {{"revoked", sids.size() + withdrawn.size()}}, .target = std::move(target)};
}

std::vector<Session> SignIn::end(const Which& which, bool revoked) {
  std::vector<Session> ended = sessions_.end(which);
  if (!ended.empty() && on_ended_) on_ended_();
  for (const Session& session : ended) {
    journal_.put(store::DropSession{session.sid});
    if (!revoked) continue;
    feed_.push(feed::Visibility::operators(),
               feed::Auth{.event = "revoked",
                          .client_id = session.client_id,
                          .scope = text(session.role),
                          .sid = session.sid,
                          .name = session.name.empty() ? std::nullopt : std::optional(session.name)});
  }
  return ended;
}

// Ends those whose time has come, and comes back for the next.
void SignIn::expire() {
  const std::int64_t now = clock_.wall_ms();
  for (const Session& session : end([&](const Session& one) { return one.expires_ms <= now; }, false)) {
    audit_.done(nullptr, "auth.sessions.expire", {{"sid", session.sid}, {"principal", session.principal()}});
  }
  std::int64_t next = now + kLookAgainMs;
  bool any = false;
  for (const Session& session : sessions_.all()) {
    next = std::min(next, session.expires_ms);
    any = true;
  }
  if (any) expiring_.arm(next - now, [this] { expire(); });
}

}  // namespace agentd::runtime
