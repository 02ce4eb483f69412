#include "a2a/states.h"

#include <array>

namespace agentd::a2a {
namespace {

constexpr std::array<std::string_view, 9> kNames = {
    "TASK_STATE_UNSPECIFIED",    "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",      "TASK_STATE_FAILED",    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_REJECTED",  "TASK_STATE_AUTH_REQUIRED",
};

}  // namespace

std::string_view to_string(TaskState state) { return kNames[static_cast<std::size_t>(state)]; }

std::optional<TaskState> task_state(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<TaskState>(i);
  }
  return std::nullopt;
}

}  // namespace agentd::a2a
