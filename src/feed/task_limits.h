// How much of a task, and of a step's error, goes on the feed (events.md section 10). What does not fit is
// read with GetTask or run.get.
#pragma once

#include <cstddef>

namespace agentd::feed {

inline constexpr std::size_t kHistoryMessages = 4;          // the newest
inline constexpr std::size_t kHistoryBytes = 32U << 10U;    // of all of them, serialised
inline constexpr std::size_t kArtifactBytes = 256U << 10U;  // of all artifacts, serialised; past it they go by id
inline constexpr std::size_t kErrCharacters = 2048;

}  // namespace agentd::feed
