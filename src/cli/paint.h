// Colour of words on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agentd::cli {

enum class Ink : std::uint8_t { kPlain, kGrey, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };

// `safe` must have passed printable.h already.
[[nodiscard]] std::string paint(std::string_view safe, Ink ink, bool colour);

// The colour of a state of a task, run, step or subagent, in whatever case.
[[nodiscard]] Ink ink_of_state(std::string_view state);

}  // namespace agentd::cli
