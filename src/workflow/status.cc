#include <algorithm>
#include <array>

#include "workflow/plan.h"

namespace agentd::workflow {
namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 9> kStepNames = {"pending", "running",   "done",    "failed",   "skipped",
                                                        "pruned",  "cancelled", "timeout", "suspended"};
constexpr std::array<std::string_view, 9> kRunNames = {"pending", "running", "suspended", "paused", "completed",
                                                       "failed",  "refused", "cancelled", "stalled"};
static_assert(kStepNames[static_cast<std::size_t>(StepStatus::kSuspended)] == "suspended");
static_assert(kRunNames[static_cast<std::size_t>(RunStatus::kStalled)] == "stalled");

template <class Status, std::size_t N>
std::optional<Status> find(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Status>(found - names.begin());
}

}  // namespace

std::string_view to_string(StepStatus status) { return kStepNames[static_cast<std::size_t>(status)]; }
std::string_view to_string(RunStatus status) { return kRunNames[static_cast<std::size_t>(status)]; }
std::optional<StepStatus> step_status(std::string_view name) { return find<StepStatus>(kStepNames, name); }
std::optional<RunStatus> run_status(std::string_view name) { return find<RunStatus>(kRunNames, name); }
bool is_terminal(RunStatus status) { return status >= RunStatus::kCompleted; }

}  // namespace agentd::workflow
