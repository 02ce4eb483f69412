#include "access/caller.h"

#include <algorithm>

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

bool matches_glob(std::string_view glob, std::string_view text) {
  // Where the last * was, and how much of the text it has taken so far: on a miss it takes one character more.
  std::size_t star = std::string_view::npos, taken = 0, g = 0, t = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
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
