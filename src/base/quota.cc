#include "base/quota.h"

#include <algorithm>

namespace agentd {

std::expected<Quota::Place, Quota::Full> Quota::take(std::string key, Limits limits) {
  const MutexLock lock(mutex_);
  if (all_ >= limits.all) return std::unexpected(Full::kAll);
  const auto held = by_key_.find(key);
  if ((held == by_key_.end() ? 0 : held->second) >= limits.per_key) return std::unexpected(Full::kKey);
  ++all_;
  ++by_key_[key];
  return Place(*this, std::move(key));
}

std::size_t Quota::taken() const {
  const MutexLock lock(mutex_);
  return all_;
}

bool Quota::has(const std::function<bool(const std::string&)>& such) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(by_key_, [&](const auto& held) { return such(held.first); });
}

void Quota::Place::give_back() {
  Quota* const of = std::exchange(of_, nullptr);
  if (of == nullptr) return;
  const MutexLock lock(of->mutex_);
  --of->all_;
  const auto held = of->by_key_.find(key_);
  if (--held->second == 0) of->by_key_.erase(held);
}

}  // namespace agentd
