#include "base/plain_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace agentd {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool all_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

// Cuts the leading digits off `text` and counts them.
std::size_t skip_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of(kDigits), text.size());
  text.remove_prefix(count);
  return count;
}

bool skip_any(std::string_view& text, std::string_view allowed) {
  if (text.empty() || allowed.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, its sign taken off.
bool is_float(std::string_view text) {
  std::size_t digits = skip_digits(text);
  if (skip_any(text, ".")) digits += skip_digits(text);
  if (digits == 0) return false;
  if (skip_any(text, "eE")) {
    skip_any(text, "+-");
    if (skip_digits(text) == 0) return false;
  }
  return text.empty();
}

Result<Json> integer(std::string_view digits, bool negative, int base) {
  std::uint64_t magnitude = 0;
  const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (error != std::errc{} || (negative && magnitude > kMost + 1)) {
    return fail(Code::kParse, "an integer is past 64 bits: quote it if it is text");
  }
  if (!negative) return Json(magnitude);
  return Json(static_cast<std::int64_t>(0U - magnitude));
}

}  // namespace

Result<Json> plain_scalar(std::string_view text) {
  if (text.empty() || is_one_of(text, {"~", "null", "Null", "NULL"})) return Json(nullptr);
  if (is_one_of(text, {"true", "True", "TRUE"})) return Json(true);
  if (is_one_of(text, {"false", "False", "FALSE"})) return Json(false);
  if (text.starts_with("0x") && all_of(text.substr(2), "0123456789abcdefABCDEF")) {
    return integer(text.substr(2), false, 16);
  }
  if (text.starts_with("0o") && all_of(text.substr(2), "01234567")) return integer(text.substr(2), false, 8);

  const bool negative = text.front() == '-';
  const std::string_view number = text.substr(negative || text.front() == '+' ? 1 : 0);
  if (all_of(number, kDigits)) return integer(number, negative, 10);
  const bool infinite = is_one_of(number, {".inf", ".Inf", ".INF"});
  if (!is_float(number) && !infinite && !is_one_of(text, {".nan", ".NaN", ".NAN"})) return Json(std::string(text));
  double value = 0;
  const auto [_, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{}) return fail(Code::kParse, "a number is past the range of a double: quote it if it is text");
  return Json(negative ? -value : value);
}

}  // namespace agentd
