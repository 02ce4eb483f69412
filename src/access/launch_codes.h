// LaunchCodes: what a program beside the daemon, run by the daemon's own user, gets in place of a login: one code for one session
// (access.md section 4). Pure but for the clock and the random numbers.
//
//   issue --> good for 60 s, once --redeem, whoever does it and however--> gone
//
// A code is bound to who asked for it and to the origin it will be shown at; it is kept as its SHA-256. At most 16 are
// outstanding: one too many displaces the oldest. Confined to the core thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace agentd::access {

struct LaunchBinding {
  std::string client_id;
  std::string origin;  // "http://127.0.0.1:8420"
  bool operator==(const LaunchBinding&) const = default;
};

class LaunchCodes final {
 public:
  static constexpr std::int64_t kTtlMs = 60'000;

  explicit LaunchCodes(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] std::string issue(LaunchBinding binding);  // 64 digits
  // Whether the code is good, and shown by whom and where it was meant to be. Used up either way.
  [[nodiscard]] bool redeem(std::string_view code, const LaunchBinding& shown);

 private:
  struct Entry {
    std::string hash;
    LaunchBinding binding;
    std::int64_t deadline_ms;  // monotonic
  };

  const Clock& clock_;
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace agentd::access
