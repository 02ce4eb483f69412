// Caller: who a request comes from, as everything behind the credential knows it. A value.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rate.h"
#include "config/snapshot.h"
#include "feed/visibility.h"

namespace agentd::access {

struct Caller {
  feed::Viewer viewer;  // what every read is decided by
  config::Role role = config::Role::kUser;
  std::optional<Rate> rate = {};                                     // of its rule; none: as often as it likes
  std::shared_ptr<const std::vector<std::string>> grants = nullptr;  // of its rule; null: none
  std::string sid = {};                                              // of its session; "" = none
  // Becomes true when what it came with is no longer good: its session was revoked or has expired, or the rules do not let it
  // in any more as who it was. Null: never.
  std::shared_ptr<const std::atomic<bool>> revoked = nullptr;

  [[nodiscard]] bool has_session() const { return !sid.empty(); }
  [[nodiscard]] bool is_revoked() const { return revoked && revoked->load(std::memory_order_acquire); }
};

[[nodiscard]] std::string_view to_string(config::Role role);

// Whether one of the grants, which are globs, covers `name`.
[[nodiscard]] bool is_granted(const Caller& caller, std::string_view name);
// Whether it may run that workflow: any, unless grants of the form workflow.run:GLOB name which.
[[nodiscard]] bool may_run_workflow(const Caller& caller, std::string_view workflow);

}  // namespace agentd::access
