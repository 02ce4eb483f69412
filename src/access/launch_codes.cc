#include "access/launch_codes.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/ids.h"

namespace agentd::access {
namespace {

constexpr std::size_t kCodeDigits = 64;
constexpr std::size_t kMost = 16;

}  // namespace

std::string LaunchCodes::issue(LaunchBinding binding) {
  if (entries_.size() == kMost) entries_.erase(entries_.begin());
  std::string code = random_hex(kCodeDigits);
  entries_.push_back(
      {.hash = sha256_hex(code), .binding = std::move(binding), .deadline_ms = clock_.mono_ms() + kTtlMs});
  return code;
}

bool LaunchCodes::redeem(std::string_view code, const LaunchBinding& shown) {
  const auto at = std::ranges::find(entries_, sha256_hex(code), &Entry::hash);
  if (at == entries_.end()) return false;
  const Entry entry = std::move(*at);
  entries_.erase(at);
  return clock_.mono_ms() < entry.deadline_ms && entry.binding == shown;
}

}  // namespace agentd::access
