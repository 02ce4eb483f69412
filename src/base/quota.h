// Quota: how many of something there may be at a time, in all and for each key (a principal, an address).
//
// Thread-safe, and outlives its places. Taking and giving back cost one lock and one look into a hash table,
// which holds the keys that have a place and no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace agentd {

class Quota final {
 public:
  // Gives itself back when it goes. Empty ones count nothing.
  class Place final {
   public:
    Place() = default;
    ~Place() { give_back(); }
    Place(Place&& other) noexcept : of_(std::exchange(other.of_, nullptr)), key_(std::move(other.key_)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(key_, other.key_);
      return *this;
    }
    explicit operator bool() const { return of_ != nullptr; }
    void give_back();

   private:
    friend class Quota;
    Place(Quota& of, std::string key) : of_(&of), key_(std::move(key)) {}

    Quota* of_ = nullptr;
    std::string key_;
  };

  struct Limits {
    std::size_t all;
    std::size_t per_key;
  };
  enum class Full : std::uint8_t { kAll, kKey };

  // The limits come with each call, because a new configuration may have changed them.
  [[nodiscard]] std::expected<Place, Full> take(std::string key, Limits limits);
  [[nodiscard]] std::size_t taken() const;
  // Whether a place is taken under such a key. Cost: a look at every key.
  [[nodiscard]] bool has(const std::function<bool(const std::string&)>& such) const;

 private:
  mutable Mutex mutex_;
  std::size_t all_ AGENTD_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::size_t> by_key_ AGENTD_GUARDED_BY(mutex_);
};

}  // namespace agentd
