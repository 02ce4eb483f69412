// DeviceGrant: sign-in by a code that an operator approves (RFC 8628), from the side of the device; and sign-out (RFC 7009).
//
//   ask() --> show user_code to the person --> wait() --> Grant
//
// Blocking, on the calling thread; every wait sees `stop`. wait() polls no faster than the daemon asks, and goes on over
// cuts and overload until the code has expired. Errors: kConfig (no http URL), kUnavailable and kTimeout (not reached, or
// stopped), kPermissionDenied (denied), kRateLimited, kInvalidRequest (refused, or expired: the message says what to do),
// kParse (no such answer). No token and no device code stands in an error message.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/result.h"
#include "client/oauth.h"
#include "client/rpc.h"

namespace agentd::client {

struct DeviceCode {
  std::string device_code;  // a secret
  std::string user_code;    // letters, digits and dashes
  std::string verification_uri;
  std::int64_t expires_s = 0;
  std::int64_t interval_s = 0;
};

// What tests replace.
struct GrantSeams {
  Random random = system_random;
  std::function<void(std::int64_t ms)> pause = {};  // empty: waits on the stop
};

class DeviceGrant final {
 public:
  DeviceGrant(Endpoint daemon, std::string client_id, const Stop& stop, const Clock& clock, GrantSeams seams = {});

  [[nodiscard]] Result<DeviceCode> ask(const std::string& scope) const;
  // `retry` is told of what passes, before the wait that follows it.
  using Retry = std::function<void(std::string_view why, std::int64_t delay_ms)>;
  [[nodiscard]] Result<Grant> wait(const DeviceCode& code, const Retry& retry) const;

 private:
  void pause(std::int64_t ms) const;

  Endpoint daemon_;
  std::string client_id_;
  const Stop& stop_;
  const Clock& clock_;
  GrantSeams seams_;
};

// Ends the session of a token; one that is none any more is ended already.
[[nodiscard]] Status revoke_token(const Endpoint& daemon, const std::string& token, const Stop& stop);

}  // namespace agentd::client
