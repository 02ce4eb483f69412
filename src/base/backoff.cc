#include "base/backoff.h"

#include <algorithm>

#include "base/ids.h"

namespace agentd {

double system_random() {
  constexpr double kSteps = 9007199254740992.0;  // 2^53: every step is a double of its own
  return static_cast<double>(random_u64() >> 11U) / kSteps;
}

std::int64_t Backoff::next_ms() {
  const std::int64_t bound = bound_ms_;
  bound_ms_ = std::min(bound_ms_ * 2, kMostMs);
  return static_cast<std::int64_t>(random_() * static_cast<double>(bound));
}

}  // namespace agentd
