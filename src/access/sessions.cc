#include "access/sessions.h"

#include <algorithm>

#include "base/digest.h"

namespace agentd::access {

using config::Role;

namespace {

std::string_view to_string(SessionKind kind) { return kind == SessionKind::kLaunch ? "launch" : "device"; }

}  // namespace

Caller caller_of(const Session& session) {
  return {.viewer = {.is_operator = session.role == Role::kOperator, .principal = session.principal()},
          .role = session.role,
          .sid = session.sid,
          .revoked = session.ended};
}

std::string Session::principal() const { return role == Role::kOperator ? "operator" : "user:" + name; }

Json to_json(const Session& session) {
  Json out = {{"sid", session.sid},
              {"kind", to_string(session.kind)},
              {"principal", session.principal()},
              {"role", to_string(session.role)},
              {"client_id", session.client_id},
              {"created_at", session.created_ms},
              {"expires_at", session.expires_ms},
              {"approved_by", session.approved_by}};
  if (!session.name.empty()) out["name"] = session.name;
  return out;
}

std::string to_body(const Session& session) {
  return dump_json({{"token_hash", session.token_hash},
                    {"kind", to_string(session.kind)},
                    {"name", session.name},
                    {"role", to_string(session.role)},
                    {"client_id", session.client_id},
                    {"approved_by", session.approved_by},
                    {"created_ms", session.created_ms},
                    {"expires_ms", session.expires_ms}});
}

Result<Session> from_body(const std::string& sid, const std::string& body) try {
  const Json from = Json::parse(body);
  // A row of before there were launches has no kind.
  const bool launch = from.value("kind", "device") == "launch";
  return Session{.sid = sid,
                 .kind = launch ? SessionKind::kLaunch : SessionKind::kDevice,
                 .token_hash = from.at("token_hash"),
                 .name = from.at("name"),
                 .role = from.at("role") == "operator" ? Role::kOperator : Role::kUser,
                 .client_id = from.at("client_id"),
                 .approved_by = from.at("approved_by"),
                 .created_ms = from.at("created_ms"),
                 .expires_ms = from.at("expires_ms")};
} catch (const Json::exception&) {
  return fail(Code::kUnavailable, "session " + sid + " cannot be read from the store");
}

std::string csrf_token(std::string_view token) { return sha256_hex(std::string("csrf:").append(token)); }

std::optional<Session> Sessions::get(std::string_view token, std::int64_t wall_ms) const {
  // The look-up is by a hash of the token: how long it takes tells nothing of the tokens that there are.
  const std::string hash = sha256_hex(token);
  const MutexLock lock(mutex_);
  const auto at = by_hash_.find(hash);
  if (at == by_hash_.end() || at->second.expires_ms <= wall_ms) return std::nullopt;
  return at->second;
}

std::optional<Caller> Sessions::find(std::string_view token, std::int64_t wall_ms) const {
  const auto session = get(token, wall_ms);
  return session ? std::optional(caller_of(*session)) : std::nullopt;
}

void Sessions::add(Session session) {
  const MutexLock lock(mutex_);
  std::string hash = session.token_hash;
  by_hash_.insert_or_assign(std::move(hash), std::move(session));
}

std::vector<Session> Sessions::end(const std::function<bool(const Session&)>& which) {
  std::vector<Session> ended;
  const MutexLock lock(mutex_);
  for (auto at = by_hash_.begin(); at != by_hash_.end();) {
    if (!which(at->second)) {
      ++at;
      continue;
    }
    at->second.ended->store(true, std::memory_order_release);
    ended.push_back(std::move(at->second));
    at = by_hash_.erase(at);
  }
  return ended;
}

std::vector<Session> Sessions::all() const {
  std::vector<Session> out;
  {
    const MutexLock lock(mutex_);
    for (const auto& [hash, session] : by_hash_) out.push_back(session);
  }
  std::ranges::sort(out, {}, [](const Session& one) { return std::pair(one.created_ms, one.sid); });
  return out;
}

}  // namespace agentd::access
