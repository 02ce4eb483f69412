#include "access/limits.h"

#include <fmt/format.h>

#include "access/source.h"

namespace agentd::access {
namespace {

constexpr std::size_t kSources = 16'384;
constexpr std::size_t kPrincipals = 16'384;
constexpr Rate kFailures = {.burst = 20, .per_ms = 60'000};  // then one every 3 s

constexpr const char* kTooManyFailures = "too many credentials from your address were refused";

Error rate_limited(std::int64_t wait_ms, const char* what) {
  const std::int64_t seconds = (wait_ms + 999) / 1000;
  return {.code = Code::kRateLimited,
          .message = fmt::format("{}; try again in {} s", what, seconds),
          .metadata = {{"retryAfterSeconds", std::to_string(seconds)}}};
}

}  // namespace

bool is_failure(const Error& refusal) {
  // Metadata says which credential it was, or that one was good and came without its CSRF token.
  return refusal.metadata.empty() ? refusal.code == Code::kPermissionDenied : refusal.code == Code::kUnauthenticated;
}

Limits::Limits(const Clock& clock) : failures_(clock, kSources), requests_(clock, kPrincipals) {}

Error Limits::refused(const std::string& address, Error refusal) {
  const std::string source = source_of(address);
  const std::int64_t wait =
      is_failure(refusal) ? failures_.take(source, kFailures) : failures_.wait_ms(source, kFailures);
  return wait == 0 ? std::move(refusal) : rate_limited(wait, kTooManyFailures);
}

Status Limits::let_in(const std::string& address) const {
  const std::int64_t wait = failures_.wait_ms(source_of(address), kFailures);
  if (wait == 0) return {};
  return std::unexpected(rate_limited(wait, kTooManyFailures));
}

Status Limits::admit(const Caller& caller) {
  if (caller.viewer.is_operator || !caller.rate) return {};
  const std::int64_t wait = requests_.take(caller.viewer.principal, *caller.rate);
  if (wait == 0) return {};
  return std::unexpected(rate_limited(wait, "you send more requests than this daemon takes from you"));
}

}  // namespace agentd::access
