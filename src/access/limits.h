// Limits: how often a source may fail to say who it is, and how often a principal may ask (access.md section 5).
//
// One for all edges; thread-safe. Failures are counted and nothing else is. A source that has failed too often cannot find
// out whether a token of the configuration is right: it is told to wait either way. The token of a session is too long to be
// guessed, and is taken all the same. Memory: at most 16,384 sources and 16,384 principals, of some 300 bytes each.
#pragma once

#include <string>

#include "access/access.h"
#include "base/rate.h"
#include "base/result.h"

namespace agentd::access {

// Whether it counts as a failure: a credential that is wrong, or a certificate that no rule matches; not that there is none.
[[nodiscard]] bool is_failure(const Error& refusal);

class Limits final {
 public:
  explicit Limits(const Clock& clock);

  // What a request that identify() refused is told: that refusal, or kRateLimited when its source has failed too often.
  // Counts what is a failure. `address`: a net::Peer's.
  [[nodiscard]] Error refused(const std::string& address, Error refusal);

  // kRateLimited for who showed a token of the configuration, while its source has failed too often.
  [[nodiscard]] Status let_in(const std::string& address) const;

  // kRateLimited when the caller's principal asks more often than the rule that named it allows; operators may.
  [[nodiscard]] Status admit(const Caller& caller);

 private:
  Rates failures_;  // by source
  Rates requests_;  // by principal
};

}  // namespace agentd::access
