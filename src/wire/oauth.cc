#include "wire/oauth.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "access/device_codes.h"
#include "access/source.h"
#include "wire/browser.h"
#include "wire/form.h"
#include "wire/html.h"
#include "wire/jsonrpc.h"

namespace agentd::wire {
namespace {

using access::DeviceCodes;
using access::LaunchBinding;
using config::Role;
using http::Query;
using http::Response;

constexpr std::string_view kAsk = "/oauth2/device_authorization";
constexpr std::string_view kToken = "/oauth2/token";
constexpr std::string_view kRevoke = "/oauth2/revoke";
constexpr std::string_view kPage = "/oauth2/device";
constexpr std::string_view kLaunch = "/oauth2/launch";
constexpr std::string_view kSession = "/oauth2/session";
constexpr std::string_view kMetadata = "/.well-known/oauth-authorization-server";
constexpr std::string_view kDeviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
constexpr std::string_view kLaunchGrant = "urn:agentd:params:oauth:grant-type:launch";
constexpr std::string_view kBrowser = "agentd-ui";  // the client that a code for a browser is of
constexpr std::string_view kBadClientId = "client_id must be 1 to 64 letters, digits, dots, dashes or underscores";
constexpr std::size_t kClientIdBytes = 64;
constexpr std::size_t kSources = 16'384;
constexpr Rate kAsks{.burst = 5, .per_ms = 60'000};
constexpr Rate kPolls{.burst = 30, .per_ms = 30'000};

std::vector<std::string_view> methods_of(const http::Request& header) {
  if (header.path == runtime::kSignInCallback) return {"GET"};
  if (header.path == kSession || header.path == kMetadata) return {"GET", "HEAD"};
  if (header.path == kPage) return {"GET", "HEAD", "POST"};
  if (header.path == kLaunch && header.peer.uid < 0) return {"GET"};
  return {"POST"};
}

Response answer(int status, std::string body, std::string type = "application/json") {
  return {.status = status,
          .headers = {{"Content-Type", std::move(type)}, {"Cache-Control", "no-store"}},
          .body = std::move(body)};
}

Response answer(int status, const Json& body) { return answer(status, dump_json(body)); }

// RFC 6749 section 5.2: the error is for the program, its description for the person who reads its log.
Response refuse(std::string_view error, std::string_view description) {
  return answer(400, Json{{"error", error}, {"error_description", description}});
}

// Nothing, or the refusal of a source that comes too often.
std::optional<Response> too_often(Rates& rates, const http::Request& request, Rate rate) {
  const std::int64_t wait_ms = rates.take(access::source_of(request.peer.address), rate);
  if (wait_ms == 0) return std::nullopt;
  Response response = answer(
      429, Json{{"error", "slow_down"}, {"error_description", "too many requests come from your address: wait"}});
  response.headers.emplace_back("Retry-After", fmt::format("{}", (wait_ms + 999) / 1'000));
  return response;
}

bool is_client_id(std::string_view text) {
  return !text.empty() && text.size() <= kClientIdBytes && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

bool is_form(std::optional<std::string_view> content_type) {
  return content_type &&
         http::same_name(content_type->substr(0, content_type->find(';')), "application/x-www-form-urlencoded");
}

Response revoked() { return {.headers = {{"Cache-Control", "no-store"}}}; }

Response used_up() {
  return html_page(
      403, "This link is not good any more",
      "<p>It is good once, for a minute, in a browser on the daemon's own machine. Start again: run the command "
      "that opened it.</p>",
      "no-referrer");
}

Response granted(const std::string& token, std::int64_t life_ms, Role scope) {
  return answer(200, Json{{"access_token", token},
                          {"token_type", "Bearer"},
                          {"expires_in", life_ms / 1'000},
                          {"scope", access::to_string(scope)}});
}

Response polled(const runtime::SignIn::Answer& answered, std::int64_t life_ms) {
  using Poll = DeviceCodes::Poll;
  switch (answered.poll) {
    case Poll::kInvalid: return refuse("invalid_grant", "the device code is unknown, used up, or of another client");
    case Poll::kExpired: return refuse("expired_token", "the device code has expired: begin again");
    case Poll::kSlowDown: return refuse("slow_down", "poll less often: wait 5 seconds longer between two polls");
    case Poll::kPending: return refuse("authorization_pending", "nobody has approved it yet: go on polling");
    case Poll::kDenied: return refuse("access_denied", "an operator turned it away");
    case Poll::kApproved: break;
  }
  return granted(answered.token, life_ms, answered.scope);
}

}  // namespace

OAuth::OAuth(runtime::SignIn& sign_in, runtime::McpTools& mcp, command::Commands& commands,
             const access::Sessions& sessions, const config::DeviceGrant& config, const Clock& clock,
             std::string issuer, std::vector<std::string> origins)
    : sign_in_(sign_in),
      mcp_(mcp),
      sessions_(sessions),
      config_(config),
      clock_(clock),
      issuer_(std::move(issuer)),
      origins_(std::move(origins)),
      approval_(sign_in, commands, clock),
      asks_(clock, kSources),
      polls_(clock, kSources) {}

bool OAuth::has(const http::Request& header) const {
  const std::string_view path = header.path;
  if (path == kLaunch) return header.peer.uid >= 0 || (header.peer.loopback && header.method == "GET");
  return path == kToken || path == kRevoke || path == kSession || path == runtime::kSignInCallback ||
         (config_.enabled && (path == kAsk || path == kPage || path == kMetadata));
}

std::optional<Response> OAuth::check_header(const http::Request& header) const {
  const auto methods = methods_of(header);
  if (std::ranges::find(methods, header.method) == methods.end()) {
    return Response{.status = 405, .headers = {{"Allow", fmt::format("{}", fmt::join(methods, ", "))}}};
  }
  if (header.method != "POST" || is_form(header.header("Content-Type"))) return std::nullopt;
  return refuse("invalid_request", "send the parameters as application/x-www-form-urlencoded");
}

Handled OAuth::handle(const http::Request& request, const access::Access& access, const Identify& identify) {
  if (request.path == kMetadata) return metadata();
  if (request.path == kPage && request.method != "POST") return approval_.show(request, identify);
  if (request.path == kSession) return session(request, identify);
  if (request.path == runtime::kSignInCallback) return came_back(request);
  if (request.path == kLaunch && request.method == "GET") return launch_browser(request);
  const auto form = read_form(request.body);
  if (!form) return refuse("invalid_request", form.error().message);
  if (request.path == kAsk) return ask(request, *form);
  if (request.path == kLaunch) return launch(*form, access);
  if (request.path == kPage) return approval_.decide(request, *form, identify);
  return request.path == kToken ? token(request, *form) : revoke(*form);
}

http::Response OAuth::not_now(std::string_view why) {
  return answer(503, Json{{"error", "temporarily_unavailable"}, {"error_description", why}});
}

Handled OAuth::ask(const http::Request& request, const Query& form) {
  const std::string client = field(form, "client_id");
  if (!is_client_id(client)) return refuse("invalid_request", kBadClientId);
  const std::string scope = field(form, "scope").empty() ? "user" : field(form, "scope");
  if (std::ranges::find(config_.scopes, scope) == config_.scopes.end()) {
    return refuse("invalid_scope", "this scope cannot be asked for here (a2a.device_grant.scopes)");
  }
  if (auto refused = too_often(asks_, request, kAsks)) return *std::move(refused);
  access::DeviceAsk asked{.client_id = client,
                          .scope = scope == "operator" ? Role::kOperator : Role::kUser,
                          .peer = request.peer.address,
                          .source = access::source_of(request.peer.address),
                          .network = access::network_of(request.peer.address)};
  return Work([this, asked = std::move(asked)]() mutable {
    if (!sign_in_.can_keep()) return not_now();
    const auto codes = sign_in_.ask(std::move(asked));
    const std::string page = issuer_ + std::string(kPage);
    return answer(200, Json{{"device_code", codes.device_code},
                            {"user_code", codes.user_code},
                            {"verification_uri", page},
                            {"verification_uri_complete", page + "?user_code=" + codes.user_code},
                            {"expires_in", config_.code_ttl_ms / 1'000},
                            {"interval", DeviceCodes::kIntervalS}});
  });
}

Handled OAuth::token(const http::Request& request, const Query& form) {
  const std::string grant = field(form, "grant_type");
  const bool launched = grant == kLaunchGrant;
  const std::string code = field(form, launched ? "launch_code" : "device_code");
  const std::string client = field(form, "client_id");
  if (grant.empty() || code.empty() || client.empty()) {
    return refuse("invalid_request", launched ? "launch_code and client_id are needed"
                                              : "grant_type, device_code and client_id are all needed");
  }
  if (!launched && (grant != kDeviceGrant || !config_.enabled)) {
    return refuse("unsupported_grant_type", config_.enabled
                                                ? fmt::format("there are {} and {}", kDeviceGrant, kLaunchGrant)
                                                : fmt::format("there is {} alone", kLaunchGrant));
  }
  if (auto refused = too_often(polls_, request, kPolls)) return *std::move(refused);
  if (launched) {
    return Work([this, code, shown = LaunchBinding{client, local_origin(request)}, peer = request.peer.address] {
      if (!sign_in_.can_keep()) return not_now();
      const auto token = sign_in_.launch(code, shown, peer);
      if (token) return granted(*token, runtime::SignIn::kLaunchTtlMs, Role::kOperator);
      return refuse("invalid_grant", "the launch code is unknown, used up, too old, or of another client or origin");
    });
  }
  return Work([this, code, client] {
    return !sign_in_.can_keep() ? not_now() : polled(sign_in_.poll(code, client), config_.token_ttl_ms);
  });
}

// Its peer is the daemon's own user, or root, or would not have been accepted.
Handled OAuth::launch(const Query& form, const access::Access& access) {
  const std::string client = field(form, "client_id");
  if (!is_client_id(client)) return refuse("invalid_request", kBadClientId);
  const std::string origin = field(form, "origin");
  if (std::ranges::find(origins_, origin) == origins_.end()) {
    return refuse("invalid_request", fmt::format("origin must be where this daemon is found on its own machine: {}",
                                                 fmt::join(origins_, ", ")));
  }
  const std::string token = field(form, "token");
  const auto unlaunched = access.identify({.loopback = true});
  const bool needs_none = token.empty() ? unlaunched && unlaunched->viewer.is_operator
                                        : sessions_.find(token, clock_.wall_ms()).has_value();
  if (needs_none) return Response{.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  return Work([this, asked = LaunchBinding{client, origin}]() mutable {
    return answer(200, Json{{"code", sign_in_.launch_code(std::move(asked))},
                            {"expires_in", access::LaunchCodes::kTtlMs / 1'000}});
  });
}

Handled OAuth::launch_browser(const http::Request& request) {
  if (auto refused = too_often(polls_, request, kPolls)) return *std::move(refused);
  return Work([this, request] {
    if (!sign_in_.can_keep()) return not_now();
    const auto token =
        sign_in_.launch(request.param("code").value_or(""),
                        {.client_id = std::string(kBrowser), .origin = local_origin(request)}, request.peer.address);
    if (!token) return used_up();
    return Response{
        .status = 303,
        .headers = {{"Location", std::string(config_.enabled ? kPage : kSession)},
                    {"Set-Cookie", set_session_cookie(request, *token, runtime::SignIn::kLaunchTtlMs / 1'000)},
                    {"Referrer-Policy", "no-referrer"}}};  // the code stands in the address
  });
}

// Who comes is known by the state in the address, which only who visited the URL of the question can have.
Handled OAuth::came_back(const http::Request& request) {
  if (auto refused = too_often(polls_, request, kPolls)) return *std::move(refused);
  return Work([this, query = request.query] {
    if (mcp_.came_back(query)) {
      return html_page(
          200, "Thank you",
          "<p>The daemon goes on by itself now: what comes of it stands in the task that asked. You can close "
          "this page.</p>",
          "no-referrer");
    }
    return html_page(403, "Nobody waits for this sign-in",
                     "<p>It was finished or given up already. Ask the agent to sign in once more.</p>", "no-referrer");
  });
}

Response OAuth::session(const http::Request& request, const Identify& identify) const {
  const auto caller = identify(std::nullopt);
  if (!caller) return error_response(nullptr, caller.error());
  const auto token = session_cookie(request);
  const auto session = token ? sessions_.get(*token, clock_.wall_ms()) : std::nullopt;
  if (!session || session->sid != caller->sid) {
    return error_response(nullptr,
                          {.code = Code::kUnauthenticated, .message = "there is no session of a browser here"});
  }
  return answer(200, Json{{"sid", session->sid},
                          {"principal", session->principal()},
                          {"role", access::to_string(session->role)},
                          {"expires_at", session->expires_ms},
                          {"csrf_token", access::csrf_token(*token)}});
}

Handled OAuth::revoke(const Query& form) {
  // RFC 7009 section 2.2: what is no token is answered like one that was, and costs the core nothing.
  const std::string token = field(form, "token");
  if (!sessions_.find(token, clock_.wall_ms())) return revoked();
  return Work([this, token] {
    sign_in_.give_up(token);
    return revoked();
  });
}

Response OAuth::metadata() const {
  return answer(200, Json{{"issuer", issuer_},
                          {"device_authorization_endpoint", issuer_ + std::string(kAsk)},
                          {"token_endpoint", issuer_ + std::string(kToken)},
                          {"revocation_endpoint", issuer_ + std::string(kRevoke)},
                          {"scopes_supported", config_.scopes},
                          {"response_types_supported", Json::array()},
                          {"grant_types_supported", {kDeviceGrant, kLaunchGrant}},
                          {"token_endpoint_auth_methods_supported", {"none"}},
                          {"revocation_endpoint_auth_methods_supported", {"none"}}});
}

}  // namespace agentd::wire
