// Text from elsewhere made safe for a terminal. A task's text may hold escape sequences that move the cursor,
// retitle the window or hide what follows; here they become visible text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentd::cli {

// On one line: C0, DEL, C1 and what changes the direction or the line of text come out as \n, \x1b, \u{202e};
// invalid UTF-8 as U+FFFD.
[[nodiscard]] std::string one_line(std::string_view text);
// The same, but a line feed and a tab stay themselves.
[[nodiscard]] std::string many_lines(std::string_view text);

// one_line() cut to at most `width` characters, the last of them "…" when cut.
[[nodiscard]] std::string brief(std::string_view text, std::size_t width);
// The number of characters (code points) of valid UTF-8.
[[nodiscard]] std::size_t characters(std::string_view text);
// Padded with spaces on the right to `width` characters.
[[nodiscard]] std::string padded(std::string text, std::size_t width);

}  // namespace agentd::cli
