// LiveAccess: the rules that hold now, and who stands on them (access.md section 2: narrowing takes effect at once).
//
// Each request is decided by one immutable set of rules. When others take its place, everybody whom they would not let in as
// the same principal and role is revoked: a caller says so (Caller::is_revoked) from before replace() returns.
// A session stands on itself (sessions.h), and the owner of a unix socket on nothing that can be taken away.
//
// Thread-safe. Cost: that of Access, two locks held for a few instructions, one entry for each different credential in use.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "access/access.h"
#include "base/mutex.h"

namespace agentd::access {

class LiveAccess final {
 public:
  explicit LiveAccess(std::shared_ptr<const Access> rules) : rules_(std::move(rules)) {}

  // As those of Access.
  [[nodiscard]] bool from_here(const Presented& presented) const { return rules()->from_here(presented); }
  [[nodiscard]] Result<Caller> identify(const Presented& presented) const;

  // Those that hold now.
  [[nodiscard]] std::shared_ptr<const Access> rules() const;
  // True when somebody is revoked by it; their streams are then to be woken.
  bool replace(std::shared_ptr<const Access> rules);

 private:
  // A caller without a session: what it showed, and what it was let in as.
  struct Standing {
    std::optional<std::string> authorization;
    std::optional<net::Certificate> certificate;
    bool loopback = false;
    feed::Viewer viewer;
    config::Role role = config::Role::kUser;
    std::atomic<bool> revoked = false;

    [[nodiscard]] bool holds(const Access& rules) const;
  };
  using Standings = std::map<std::string, std::weak_ptr<Standing>>;  // by what was shown

  void forget_gone() const AGENTD_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<const Access> rules_ AGENTD_GUARDED_BY(mutex_);
  mutable Standings standings_ AGENTD_GUARDED_BY(mutex_);
  mutable std::size_t forget_at_ AGENTD_GUARDED_BY(mutex_) = 64;
};

}  // namespace agentd::access
