#include "cli/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace agentd::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t sequence_length(std::string_view valid) {
  std::size_t length = 1;
  while (length < valid.size() && continues(valid[length])) ++length;
  return length;
}

char32_t decode(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(sequence[i])); };
  constexpr char32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t point = byte(0) & kLeadBits[sequence.size()];
  for (std::size_t i = 1; i < sequence.size(); ++i) point = (point << 6U) | (byte(i) & 0x3FU);
  return point;
}

// What a terminal or a reader's eye obeys instead of showing it.
bool drives(char32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) ||  // C0, DEL, C1
         point == 0x200E || point == 0x200F || point == 0x061C || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) ||  // direction of text
         point == 0x2028 || point == 0x2029 || point == 0xFEFF;
}

std::string escaped(char32_t point) {
  switch (point) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  const auto number = static_cast<std::uint32_t>(point);
  return point < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{{{:x}}}", number);
}

std::string safe(std::string_view text, bool keep_lines) {
  const std::string valid = to_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const auto sequence = rest.substr(0, sequence_length(rest));
    rest.remove_prefix(sequence.size());
    const char32_t point = decode(sequence);
    const bool kept = keep_lines && (point == '\n' || point == '\t');
    if (drives(point) && !kept) {
      out += escaped(point);
    } else {
      out += sequence;
    }
  }
  return out;
}

}  // namespace

std::string one_line(std::string_view text) { return safe(text, false); }
std::string many_lines(std::string_view text) { return safe(text, true); }

std::size_t characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

std::string brief(std::string_view text, std::size_t width) {
  // A character has at most 4 bytes, so what is past this is cut anyway, and a huge text costs nothing.
  const std::size_t enough = 4 * (width + 1);
  std::string line = one_line(text.substr(0, enough));
  if (text.size() <= enough && characters(line) <= width) return line;
  std::size_t end = 0;
  for (std::size_t count = 1; count < width && end < line.size(); ++count) {
    end += sequence_length(std::string_view(line).substr(end));
  }
  return line.substr(0, end) + "…";
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t size = characters(text);
  if (size < width) text.append(width - size, ' ');
  return text;
}

}  // namespace agentd::cli
