// Losses: how many connections were closed because of their peer, by what it did or failed to do.
//
// One for all servers that share it, and outlives them. Thread-safe. A peer that closes its side in an orderly way, or
// just asks nothing more, is no loss.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/json.h"

namespace agentd::http {

enum class Loss : std::uint8_t {
  kHandshake,  // of TLS: did not end in time
  kHead,       // of a request: did not arrive in time
  kBody,
  kWrite,  // took nothing for too long of what it was sent, or has vanished without a word
  kReset,  // reset the connection
};

class Losses final {
 public:
  void count(Loss loss) { counts_[static_cast<std::size_t>(loss)].fetch_add(1, std::memory_order_relaxed); }

  // {"head_timeouts": 2, …}: those that are not 0.
  [[nodiscard]] Json to_json() const {
    Json out = Json::object();
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (const std::uint64_t count = counts_[i].load(std::memory_order_relaxed); count > 0) out[kNames[i]] = count;
    }
    return out;
  }

 private:
  static constexpr std::array kNames = {"handshake_timeouts", "head_timeouts", "body_timeouts", "write_timeouts",
                                        "resets"};

  std::array<std::atomic<std::uint64_t>, kNames.size()> counts_{};
};

}  // namespace agentd::http
