// Rates: token buckets by key (an address, a principal): so many at once, and then as many as flow back.
//
// Thread-safe. A bucket is kept as the one moment at which it will be full again; one that is full is as good as none,
// and is dropped:
//
//                      each take puts it later by per / burst
//      now ------------------> full_at                    refused when it would be later than now + per
//       |<--- what is owed --->|
//
// At most `capacity` buckets (1 or more), of about 200 bytes and the key each. When they are all owing, the one that
// owes least makes room: it forgets the least, and who is over the limit is not let off by others who come. A take costs
// one lock, one look into a hash table and the logarithm of the number of buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"

namespace agentd {

// `burst` tokens, refilled evenly over `per_ms`. Both more than 0.
struct Rate {
  std::uint64_t burst = 1;
  std::int64_t per_ms = 1000;
  bool operator==(const Rate&) const = default;
};

class Rates final {
 public:
  Rates(const Clock& clock, std::size_t capacity) : clock_(clock), capacity_(capacity) {}

  // Takes a token and returns 0; or takes none, and returns in how many milliseconds there will be one. The rate comes
  // with each call, because a new configuration may have changed it.
  [[nodiscard]] std::int64_t take(const std::string& key, Rate rate);
  // What take() would return; takes nothing.
  [[nodiscard]] std::int64_t wait_ms(const std::string& key, Rate rate) const;
  [[nodiscard]] std::size_t size() const;

 private:
  // By full_at, in nanoseconds of the monotonic clock. The keys are those of by_key_, whose nodes do not move.
  using Owing = std::multimap<std::int64_t, std::string_view>;

  [[nodiscard]] std::int64_t now_ns() const { return clock_.mono_ms() * 1'000'000; }
  // When the key's bucket would be full after one more take at `now`.
  [[nodiscard]] std::int64_t full_after(const std::string& key, Rate rate, std::int64_t now) const
      AGENTD_REQUIRES(mutex_);
  void drop_first() AGENTD_REQUIRES(mutex_);

  const Clock& clock_;
  const std::size_t capacity_;
  mutable Mutex mutex_;
  Owing owing_ AGENTD_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Owing::iterator> by_key_ AGENTD_GUARDED_BY(mutex_);
};

}  // namespace agentd
