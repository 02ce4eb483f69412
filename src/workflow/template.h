// Templates: strings that hold `${{ expression }}`, and how an expression is found in them.
//
// An expression ends at the first `}}` that stands outside its own strings, comments and brackets, so
// `${{ {a: {b: "}}"}} }}` is one. `$${{` is the text `${{`. Pure functions; linear in the text.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::workflow {

inline constexpr std::size_t kExpressionBytes = 64U << 10U;

struct Piece {
  bool expression = false;
  std::string text;  // as it is, or the expression without its braces and outer blanks
  bool operator==(const Piece&) const = default;
};

// The pieces of a template, none of them empty text. The error says what is wrong with which expression.
[[nodiscard]] std::expected<std::vector<Piece>, std::string> split_template(std::string_view text);

// Whether `source` is closed: its strings end and its brackets match, so that it can stand in the middle of a
// larger program. Also refuses an empty one, one past kExpressionBytes, and `$ENV`.
[[nodiscard]] std::expected<void, std::string> check_expression(std::string_view source);

}  // namespace agentd::workflow
