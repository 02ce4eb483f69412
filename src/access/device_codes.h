// DeviceCodes: the device sign-ins that wait for their approval (RFC 8628, access.md section 4). Pure but for the clock and
// the random numbers.
//
//   ask --> waiting --approve--> approved --the device fetches its token--> gone
//              |---deny--------> denied ----the device is told------------> gone
//              |---code_ttl---> (expired)
//
// Bounded: 64 waiting in all, 16 of a network, 4 of a source. One too many displaces the oldest of whoever has the most, so
// that a flood drowns its own. Confined to the core thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "config/snapshot.h"

namespace agentd::access {

struct DeviceAsk {
  std::string client_id;
  config::Role scope = config::Role::kUser;
  std::string peer;     // its address, as it is shown
  std::string source;   // what the limits count by
  std::string network;  // the same, wider
};

struct DeviceRequest {
  DeviceAsk ask;
  std::string user_code;                          // XXXX-XXXX
  std::int64_t requested_ms = 0, expires_ms = 0;  // since the epoch
};

// What an operator made of a request.
struct Approval {
  std::string name, approved_by;
  config::Role scope = config::Role::kUser;
};

class DeviceCodes final {
 public:
  static constexpr std::int64_t kIntervalS = 5;

  DeviceCodes(const Clock& clock, std::int64_t ttl_ms) : clock_(clock), ttl_ms_(ttl_ms) {}

  struct Asked {
    std::string device_code, user_code;
  };
  Asked ask(DeviceAsk ask);

  // RFC 8628 section 3.5. `kInvalid`: unknown, used up, or of another client.
  enum class Poll : std::uint8_t { kInvalid, kExpired, kSlowDown, kPending, kDenied, kApproved };
  struct Polled {
    Poll poll = Poll::kInvalid;
    std::optional<DeviceRequest> request = {};  // of kApproved, which uses the code up
    Approval approval = {};
  };
  Polled poll(std::string_view device_code, std::string_view client_id);

  [[nodiscard]] std::vector<DeviceRequest> pending() const;  // oldest first
  // `user_code` as a person types it. Nothing when no such code waits.
  [[nodiscard]] std::optional<DeviceRequest> find(std::string_view user_code);
  std::optional<DeviceRequest> approve(std::string_view user_code, Approval approval);
  // Also one that was approved, and whose device has not come for its token.
  std::optional<DeviceRequest> deny(std::string_view user_code);
  // Takes back the approvals that `which` is true for, and gives their requests.
  std::vector<DeviceRequest> withdraw(const std::function<bool(const Approval&)>& which);

 private:
  enum class Outcome : std::uint8_t { kWaiting, kApproved, kDenied };
  struct Entry {
    DeviceRequest request;
    Outcome outcome = Outcome::kWaiting;
    Approval approval;
    std::int64_t deadline_ms = 0;  // as the other times here, monotonic
    std::int64_t interval_ms = kIntervalS * 1000;
    std::optional<std::int64_t> polled_ms = {};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by the hash of the device code

  [[nodiscard]] bool is_waiting(const Entry& entry) const;
  [[nodiscard]] bool is_alive(const Entry& entry) const { return clock_.mono_ms() < entry.deadline_ms; }
  [[nodiscard]] Entry* waiting(std::string_view user_code);
  void make_room(const DeviceAsk& ask);
  void forget_old();

  const Clock& clock_;
  const std::int64_t ttl_ms_;
  Entries entries_;
};

// "bcdf ghjk", "BCDFGHJK" and "BCDF-GHJK" are one code: BCDF-GHJK. "" when it cannot be one.
[[nodiscard]] std::string normal_user_code(std::string_view typed);

}  // namespace agentd::access
