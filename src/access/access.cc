#include "access/access.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "base/glob.h"

namespace agentd::access {
namespace {

using config::Role;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// "[::1]:8420" -> "[::1]", "LocalHost:80" -> "localhost".
std::string host_of(std::string_view authority) {
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return {};
  return lower(authority.substr(0, authority.find(':', bracket)));
}

std::string host_of_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  return host_of(url.substr(0, url.find('/')));
}

// Time depends on the presented length only, not on how much of it is right.
bool same_secret(std::string_view presented, std::string_view secret) {
  unsigned difference = presented.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < presented.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(presented[i]) ^ static_cast<unsigned char>(expected));
  }
  return difference == 0 && !secret.empty();
}

// What is shown as a bearer token, "" too: an empty variable is a wrong token, and not none.
std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  constexpr std::string_view kBlanks = " \t";
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  authorization.remove_prefix(kScheme.size());
  if (!authorization.empty() && !kBlanks.contains(authorization.front())) return {};
  authorization.remove_prefix(std::min(authorization.find_first_not_of(kBlanks), authorization.size()));
  return authorization.substr(0, authorization.find_last_not_of(kBlanks) + 1);
}

// `name`: whose it is, where the rule has no id.
Caller caller_of(const config::PrincipalRule& rule, const std::string& name = "any") {
  Caller caller{.viewer = {}, .role = rule.role, .rate = rule.rate};
  caller.viewer.is_operator = rule.role == Role::kOperator;
  caller.viewer.principal = caller.viewer.is_operator
                                ? "operator"
                                : std::string(to_string(rule.role)) + ":" + (rule.id.empty() ? name : rule.id);
  if (!rule.grants.empty()) caller.grants = std::make_shared<const std::vector<std::string>>(rule.grants);
  return caller;
}

Caller the_operator() { return {.viewer = {.is_operator = true, .principal = "operator"}, .role = Role::kOperator}; }

std::unexpected<Error> no_csrf_token() {
  Error error{
      .code = Code::kPermissionDenied,
      .message = "a browser's session changes nothing without the header 'X-CSRF-Token'; GET /oauth2/session has it"};
  error.metadata.emplace_back("header", "X-CSRF-Token");
  return std::unexpected(std::move(error));
}

}  // namespace

std::unexpected<Error> invalid_token(std::string message) {
  Error error{.code = Code::kUnauthenticated, .message = std::move(message)};
  error.metadata.emplace_back("error", "invalid_token");
  return std::unexpected(std::move(error));
}

Access::Access(const config::Snapshot& config, const Sessions& sessions, const Clock& clock)
    : sessions_(sessions),
      clock_(clock),
      device_grant_(config.a2a.device_grant.enabled),
      origins_(config.a2a.cors_origins),
      hosts_{"localhost", "127.0.0.1", "[::1]"} {
  if (config.a2a.bearer) bearers_.push_back({config.a2a.bearer->value, the_operator()});
  for (const config::PrincipalRule& rule : config.a2a.principals) {
    if (rule.bearer) bearers_.push_back({rule.bearer->value, caller_of(rule)});
    if (rule.any && !any_) any_ = caller_of(rule);
    if (rule.role == Role::kUser && !rule.id.empty()) users_.emplace("user:" + rule.id, caller_of(rule));
    if (rule.any || !rule.san.empty() || !rule.sub.empty()) certificates_.push_back(rule);
  }
  has_rules_ = !config.a2a.principals.empty();
  // Where others come by a name of its own, they come through a proxy, and all of them from this machine.
  const std::string name = host_of_url(config.a2a.url);
  const bool is_local = name.empty() || std::ranges::find(hosts_, name) != hosts_.end();
  implicit_operator_ = !config.a2a.bearer && config.a2a.principals.empty() && !device_grant_ &&
                       config.a2a.tls.client_ca.empty() && is_local;
  for (const std::string& url : config.a2a.listen) hosts_.push_back(host_of_url(url));
  hosts_.push_back(host_of_url(config.a2a.url));
  std::erase(hosts_, "");
}

bool Access::from_here(const Presented& presented) const {
  if (presented.origin && std::ranges::find(origins_, *presented.origin) == origins_.end()) return false;
  return !presented.host || std::ranges::find(hosts_, host_of(*presented.host)) != hosts_.end();
}

Result<Caller> Access::by_session(std::string_view token) const {
  auto caller = sessions_.find(token, clock_.wall_ms());
  if (!caller) {
    return invalid_token("you are signed out: the session is over or was revoked; sign in again with 'agentd login'");
  }
  // A rule of the same principal binds it too.
  if (const auto rule = users_.find(caller->viewer.principal); rule != users_.end()) {
    caller->rate = rule->second.rate;
    caller->grants = rule->second.grants;
  }
  return *std::move(caller);
}

Result<Caller> Access::by_certificate(const net::Certificate& certificate) const {
  if (!has_rules_) return the_operator();
  for (const config::PrincipalRule& rule : certificates_) {
    if (rule.any) return caller_of(rule);
    if (!certificate.cn.empty() && (rule.sub == certificate.cn || matches_glob(rule.san, certificate.cn))) {
      return caller_of(rule, "cn=" + certificate.cn);
    }
    for (const std::string& san : certificate.sans) {
      if (!rule.san.empty() && matches_glob(rule.san, san)) return caller_of(rule, "san=" + san);
    }
  }
  return fail(
      Code::kPermissionDenied,
      "no rule of a2a.principals matches your client certificate; an operator can add one with its CN or a SAN");
}

Result<Caller> Access::identify(const Presented& presented) const {
  if (presented.unix_socket) return the_operator();
  const auto token = presented.authorization ? bearer_token(*presented.authorization) : std::nullopt;
  if (token && token->starts_with(kTokenPrefix)) return by_session(*token);
  if (presented.cookie && !presented.authorization && !presented.origin && !presented.page) {
    auto caller = by_session(*presented.cookie);
    if (!caller || !presented.changes) return caller;
    if (!same_secret(presented.csrf.value_or(""), csrf_token(*presented.cookie))) return no_csrf_token();
    return caller;
  }
  if (token && (!bearers_.empty() || device_grant_)) {
    for (const Rule& rule : bearers_) {
      if (same_secret(*token, rule.secret)) return rule.caller;
    }
    return invalid_token("the bearer token is not valid here; ask the operator of this daemon for one");
  }
  if (presented.certificate != nullptr) return by_certificate(*presented.certificate);
  if (any_) return *any_;
  if (implicit_operator_ && presented.loopback && !presented.origin && !presented.page) return the_operator();
  return fail(Code::kUnauthenticated,
              device_grant_
                  ? "authentication is required: send the header 'Authorization: Bearer <token>'; 'agentd login' "
                    "gets a token"
                  : "authentication is required: send the header 'Authorization: Bearer <token>'");
}

}  // namespace agentd::access
