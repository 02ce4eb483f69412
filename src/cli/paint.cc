#include "cli/paint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace agentd::cli {

std::string paint(std::string_view safe, Ink ink, bool colour) {
  constexpr std::array<std::string_view, 8> kCodes = {"0", "90", "31", "32", "33", "34", "35", "36"};
  if (!colour || ink == Ink::kPlain || safe.empty()) return std::string(safe);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(ink)], safe);
}

Ink ink_of_state(std::string_view state) {
  std::string lower(state);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto is_one_of = [&](auto... names) { return ((lower == names) || ...); };
  if (is_one_of("completed", "done")) return Ink::kGreen;
  if (is_one_of("failed", "rejected", "refused", "crashed", "timeout", "stalled")) return Ink::kRed;
  if (is_one_of("canceled", "cancelled", "killed", "skipped", "pruned")) return Ink::kGrey;
  if (is_one_of("input_required", "auth_required", "suspended", "paused")) return Ink::kMagenta;
  if (is_one_of("working", "running", "submitted", "pending")) return Ink::kYellow;
  return Ink::kPlain;
}

}  // namespace agentd::cli
