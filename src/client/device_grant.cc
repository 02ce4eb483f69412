#include "client/device_grant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "client/oauth.h"
#include "client/rpc_error.h"
#include "client/url.h"
#include "http/target.h"

namespace agentd::client {
namespace {

constexpr const char* kDeviceCodeGrant = "urn:ietf:params:oauth:grant-type:device_code";
constexpr std::int64_t kSlowDownS = 5;         // RFC 8628 section 3.5
constexpr std::int64_t kDefaultIntervalS = 5;  // section 3.2
constexpr std::size_t kMostUserCode = 32;

constexpr const char* kAgain = "run 'agentd login' again";

// It stands in a command that a person is to copy.
bool is_user_code(std::string_view text) {
  const auto sound = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  return !text.empty() && text.size() <= kMostUserCode && text.front() != '-' && std::ranges::all_of(text, sound);
}

// An answer other than the one hoped for. `name` is the OAuth error, "" when the answer has none.
Error refusal(const HttpResponse& response, const std::string& name) {
  if (name == "access_denied") return {.code = Code::kPermissionDenied, .message = "the sign-in was denied"};
  if (name == "expired_token") {
    return {.code = Code::kInvalidRequest, .message = fmt::format("nobody approved the code in time: {}", kAgain)};
  }
  if (name == "invalid_grant") {
    return {.code = Code::kInvalidRequest,
            .message = fmt::format("the daemon does not know this sign-in any more (was it restarted?): {}", kAgain)};
  }
  if (!name.empty()) {
    const std::string why = text_of(object_of(response.body), "error_description");
    return {.code = Code::kInvalidRequest,
            .message = fmt::format("the sign-in was refused: {}{}{}", name, why.empty() ? "" : ": ", why)};
  }
  if (response.head.status == 404) {
    return {
        .code = Code::kInvalidRequest,
        .message =
            "there is no sign-in: either an operator must turn it on (a2a.device_grant.enabled), or this is no agentd"};
  }
  return decode_http_error(response.head, response.body);
}

// What one poll came to.
struct Polled {
  enum class Next : std::uint8_t { kPending, kSlowDown, kRetry, kDone };
  Next next = Next::kDone;
  Result<Grant> outcome = {};  // of kDone; the error of kRetry
};

Polled judge(const Result<HttpResponse>& response) {
  using enum Polled::Next;
  Error error;
  if (!response) {
    error = response.error();
  } else if (response->head.status == 200) {
    return {.next = kDone, .outcome = grant_of(*response)};
  } else {
    const std::string name = text_of(object_of(response->body), "error");
    if (name == "authorization_pending") return {.next = kPending};
    if (name == "slow_down") return {.next = kSlowDown};
    error = refusal(*response, name);
  }
  const bool passing =
      error.code == Code::kUnavailable || error.code == Code::kTimeout || error.code == Code::kRateLimited;
  return {.next = passing ? kRetry : kDone, .outcome = std::unexpected(std::move(error))};
}

}  // namespace

DeviceGrant::DeviceGrant(Endpoint daemon, std::string client_id, const Stop& stop, const Clock& clock, GrantSeams seams)
    : daemon_(std::move(daemon)),
      client_id_(std::move(client_id)),
      stop_(stop),
      clock_(clock),
      seams_(std::move(seams)) {}

Result<DeviceCode> DeviceGrant::ask(const std::string& scope) const {
  const auto response = post_form(daemon_, "/oauth2/device_authorization",
                                  http::form_of({{"client_id", client_id_}, {"scope", scope}}), stop_);
  if (!response) return std::unexpected(response.error());
  const Json answer = object_of(response->body);
  if (response->head.status == 429) {
    const std::int64_t wait_s = retry_after_ms(decode_http_error(response->head, {})) / 1000;
    return fail(Code::kRateLimited,
                fmt::format("too many sign-ins were begun: try again in {} s", std::max<std::int64_t>(wait_s, 1)));
  }
  if (response->head.status != 200) return std::unexpected(refusal(*response, text_of(answer, "error")));
  DeviceCode code{.device_code = text_of(answer, "device_code"),
                  .user_code = text_of(answer, "user_code"),
                  .verification_uri = text_of(answer, "verification_uri"),
                  .expires_s = seconds_of(answer, "expires_in", 0),
                  .interval_s = seconds_of(answer, "interval", kDefaultIntervalS)};
  if (code.device_code.empty() || !is_user_code(code.user_code) || code.expires_s == 0) return no_such_answer("a code");
  return code;
}

Result<Grant> DeviceGrant::wait(const DeviceCode& code, const Retry& retry) const {
  using enum Polled::Next;
  const std::int64_t until_ms = clock_.mono_ms() + code.expires_s * 1000;
  std::int64_t interval_ms = code.interval_s * 1000;
  std::int64_t more_ms = 0;  // after what passes
  Backoff backoff(seams_.random);
  while (clock_.mono_ms() < until_ms) {
    pause(interval_ms + more_ms);
    if (stop_.requested()) return fail(Code::kTimeout, "interrupted");
    Polled polled = judge(post_form(
        daemon_, "/oauth2/token",
        http::form_of({{"grant_type", kDeviceCodeGrant}, {"device_code", code.device_code}, {"client_id", client_id_}}),
        stop_));
    if (stop_.requested() && !polled.outcome) return fail(Code::kTimeout, "interrupted");
    if (polled.next == kDone) return std::move(polled.outcome);
    more_ms = 0;
    if (polled.next == kRetry) {
      more_ms = std::max(backoff.next_ms(), retry_after_ms(polled.outcome.error()));
      retry(polled.outcome.error().message, interval_ms + more_ms);
      continue;
    }
    backoff.reset();
    if (polled.next == kSlowDown) interval_ms += kSlowDownS * 1000;
  }
  return fail(Code::kInvalidRequest, fmt::format("nobody approved the code in time: {}", kAgain));
}

void DeviceGrant::pause(std::int64_t ms) const {
  if (seams_.pause) {
    seams_.pause(ms);
  } else {
    [[maybe_unused]] const bool stopped = stop_.wait_ms(ms);
  }
}

Status revoke_token(const Endpoint& daemon, const std::string& token, const Stop& stop) {
  const auto response = post_form(daemon, "/oauth2/revoke", http::form_of({{"token", token}}), stop);
  if (!response) return std::unexpected(response.error());
  if (response->head.status != 200) return std::unexpected(decode_http_error(response->head, response->body));
  return {};
}

}  // namespace agentd::client
