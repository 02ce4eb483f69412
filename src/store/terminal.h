// The states in which a task or a run is over for good: such rows are listed without their bodies.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace agentd::store {

inline constexpr std::array<std::string_view, 4> kTerminalTaskStates = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED",
                                                                        "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"};
inline constexpr std::array<std::string_view, 5> kTerminalRunStatuses = {"completed", "failed", "refused", "cancelled",
                                                                         "stalled"};

[[nodiscard]] inline bool is_terminal_task(std::string_view state) {
  return std::ranges::find(kTerminalTaskStates, state) != kTerminalTaskStates.end();
}
[[nodiscard]] inline bool is_terminal_run(std::string_view status) {
  return std::ranges::find(kTerminalRunStatuses, status) != kTerminalRunStatuses.end();
}

}  // namespace agentd::store
