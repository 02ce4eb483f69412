#include "access/caller.h"

#include <algorithm>

#include "base/glob.h"

namespace agentd::access {
namespace {

constexpr std::string_view kRunning = "workflow.run:";

}  // namespace

std::string_view to_string(config::Role role) {
  switch (role) {
    case config::Role::kOperator: return "operator";
    case config::Role::kUser: return "user";
    case config::Role::kAgent: return "agent";
  }
  return "user";
}

bool is_granted(const Caller& caller, std::string_view name) {
  return caller.grants != nullptr &&
         std::ranges::any_of(*caller.grants, [&](const std::string& glob) { return matches_glob(glob, name); });
}

bool may_run_workflow(const Caller& caller, std::string_view workflow) {
  if (caller.viewer.is_operator || caller.grants == nullptr) return true;
  bool any = true;
  for (const std::string_view grant : *caller.grants) {
    if (!grant.starts_with(kRunning)) continue;
    if (matches_glob(grant.substr(kRunning.size()), workflow)) return true;
    any = false;
  }
  return any;
}

}  // namespace agentd::access
