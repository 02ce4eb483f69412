// Task states and roles of A2A 1.0.1: names, numbers, and which of them end or interrupt a task (a2a.md section 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agentd::a2a {

enum class TaskState : std::uint8_t {
  kUnspecified,
  kSubmitted,
  kWorking,
  kCompleted,
  kFailed,
  kCanceled,
  kInputRequired,
  kRejected,
  kAuthRequired,
};

[[nodiscard]] std::string_view to_string(TaskState state);  // "TASK_STATE_WORKING"
[[nodiscard]] std::optional<TaskState> task_state(std::string_view name);

[[nodiscard]] constexpr bool is_terminal(TaskState state) {
  return state == TaskState::kCompleted || state == TaskState::kFailed || state == TaskState::kCanceled ||
         state == TaskState::kRejected;
}
[[nodiscard]] constexpr bool is_interrupted(TaskState state) {
  return state == TaskState::kInputRequired || state == TaskState::kAuthRequired;
}

}  // namespace agentd::a2a
