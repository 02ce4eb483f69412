#include "base/rate.h"

#include "base/check.h"

namespace agentd {
namespace {

// Rounded up, so that no more than the burst flows back in its time.
std::int64_t token_ns(Rate rate) {
  AGENTD_CHECK(rate.burst > 0 && rate.per_ms > 0, "a rate lets something through");
  const auto burst = static_cast<std::int64_t>(rate.burst);
  return (rate.per_ms * 1'000'000 + burst - 1) / burst;
}

// How long a bucket that would be full at `full_ns` is too far from it; in milliseconds, rounded up.
std::int64_t excess_ms(std::int64_t full_ns, std::int64_t now_ns, Rate rate) {
  const std::int64_t excess = full_ns - (now_ns + static_cast<std::int64_t>(rate.burst) * token_ns(rate));
  return excess <= 0 ? 0 : (excess + 999'999) / 1'000'000;
}

}  // namespace

std::int64_t Rates::take(const std::string& key, Rate rate) {
  const MutexLock lock(mutex_);
  const std::int64_t now = now_ns();
  while (!owing_.empty() && owing_.begin()->first <= now) drop_first();
  const std::int64_t full = full_after(key, rate, now);
  if (const std::int64_t wait = excess_ms(full, now, rate); wait > 0) return wait;
  if (const auto held = by_key_.find(key); held != by_key_.end()) {
    owing_.erase(held->second);
    held->second = owing_.emplace(full, held->first);
    return 0;
  }
  if (by_key_.size() >= capacity_) drop_first();
  const auto added = by_key_.emplace(key, owing_.end()).first;
  added->second = owing_.emplace(full, added->first);
  return 0;
}

std::int64_t Rates::wait_ms(const std::string& key, Rate rate) const {
  const MutexLock lock(mutex_);
  const std::int64_t now = now_ns();
  return excess_ms(full_after(key, rate, now), now, rate);
}

std::size_t Rates::size() const {
  const MutexLock lock(mutex_);
  return by_key_.size();
}

std::int64_t Rates::full_after(const std::string& key, Rate rate, std::int64_t now) const {
  // One that is full by now is gone before a take, and to wait_ms() it is as good as gone: it waits for neither.
  const auto held = by_key_.find(key);
  return (held == by_key_.end() ? now : held->second->first) + token_ns(rate);
}

void Rates::drop_first() {
  const auto first = owing_.begin();
  by_key_.erase(by_key_.find(std::string(first->second)));
  owing_.erase(first);
}

}  // namespace agentd
