// Backoff: how long to wait before the next attempt. Exponential with full jitter: the n-th wait is uniform
// between 0 and min(30 s, first * 2^n), so that clients cut together do not come back together.
// Confined to one thread; the random source is passed in.
#pragma once

#include <cstdint>
#include <functional>

namespace agentd {

// Uniform in [0, 1).
using Random = std::function<double()>;
[[nodiscard]] double system_random();

class Backoff final {
 public:
  static constexpr std::int64_t kFirstMs = 200;
  static constexpr std::int64_t kMostMs = 30'000;

  explicit Backoff(Random random = system_random, std::int64_t first_ms = kFirstMs)
      : random_(std::move(random)), first_ms_(first_ms) {}
  [[nodiscard]] std::int64_t next_ms();
  void reset() { bound_ms_ = first_ms_; }

 private:
  Random random_;
  std::int64_t first_ms_;
  std::int64_t bound_ms_ = first_ms_;
};

}  // namespace agentd
