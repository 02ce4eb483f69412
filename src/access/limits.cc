#include "access/limits.h"

#include <fmt/format.h>

#include "access/source.h"

namespace agentd::access {
namespace {

constexpr std::size_t kSources = 16'384;
constexpr Rate kFailures = {.burst = 20, .per_ms = 60'000};  // then one every 3 s

bool is_failure(const Error& refusal) { return refusal.code == Code::kPermissionDenied || !refusal.metadata.empty(); }

Error rate_limited(std::int64_t wait_ms, const char* what) {
  const std::int64_t seconds = (wait_ms + 999) / 1000;
  return {.code = Code::kRateLimited,
          .message = fmt::format("{}; try again in {} s", what, seconds),
          .metadata = {{"retryAfterSeconds", std::to_string(seconds)}}};
}

}  // namespace

Limits::Limits(const Clock& clock) : failures_(clock, kSources) {}

Error Limits::refused(const std::string& address, Error refusal) {
  const std::string source = source_of(address);
  const std::int64_t wait =
      is_failure(refusal) ? failures_.take(source, kFailures) : failures_.wait_ms(source, kFailures);
  return wait == 0 ? std::move(refusal) : rate_limited(wait, "too many credentials from your address were refused");
}

}  // namespace agentd::access
