#include "workflow/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace agentd::workflow {
namespace {

constexpr std::string_view kOpen = "${{";
constexpr std::string_view kEscaped = "$${{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kEnvironment = "$ENV";

char partner(char closing) { return closing == ')' ? '(' : closing == ']' ? '[' : '{'; }

bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Walks a jq expression only as far as needed to say where it ends: strings with their `\( … )`, comments and
// brackets. What is open stands on a stack of our own: a '"' for a string, else the bracket.
class Scanner final {
 public:
  // From `at`, to the `}}` that closes a template, or to the end of the text when `closed_by_braces` is
  // false.
  std::expected<std::size_t, std::string> end_of(std::string_view text, std::size_t at, bool closed_by_braces) {
    while (at < text.size()) {
      if (in_string()) {
        at = step_in_string(text, at);
        continue;
      }
      if (closed_by_braces && open_.empty() && text.substr(at).starts_with(kClose)) return at;
      if (!accept(text, at)) return std::unexpected(std::move(refused_));
      at = text[at] == '#' ? std::min(text.find('\n', at), text.size()) : at + 1;
    }
    if (in_string()) return std::unexpected("a string in it is never closed");
    if (!open_.empty()) return std::unexpected(fmt::format("a '{}' in it is never closed", open_.back()));
    if (closed_by_braces) return std::unexpected("it is never closed by }}");
    return at;
  }

 private:
  [[nodiscard]] bool in_string() const { return open_.ends_with('"'); }

  std::size_t step_in_string(std::string_view text, std::size_t at) {
    if (text[at] == '\\') {
      if (text.substr(at).starts_with("\\(")) open_ += '(';
      return at + 2;
    }
    if (text[at] == '"') open_.pop_back();
    return at + 1;
  }

  bool accept(std::string_view text, std::size_t at) {
    const char c = text[at];
    if (c == '"' || c == '(' || c == '[' || c == '{') {
      open_ += c;
    } else if (c == ')' || c == ']' || c == '}') {
      if (!open_.ends_with(partner(c))) {
        refused_ = fmt::format("a '{}' in it closes nothing", c);
        return false;
      }
      open_.pop_back();
    } else if (text.substr(at).starts_with(kEnvironment) &&
               (at + kEnvironment.size() == text.size() || !continues_name(text[at + kEnvironment.size()]))) {
      refused_ = "$ENV is not available: the daemon's environment is not visible to expressions";
      return false;
    }
    return true;
  }

  std::string open_;
  std::string refused_;
};

}  // namespace

std::expected<std::vector<Piece>, std::string> split_template(std::string_view text) {
  std::vector<Piece> pieces;
  std::string plain;
  std::size_t at = 0;
  const auto flush = [&] {
    if (!plain.empty()) pieces.push_back({.expression = false, .text = std::exchange(plain, {})});
  };
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kEscaped)) {
      plain += kOpen;
      at += kEscaped.size();
    } else if (!rest.starts_with(kOpen)) {
      plain += text[at++];
    } else {
      const std::size_t start = at + kOpen.size();
      const auto end = Scanner().end_of(text, start, true);
      const std::string_view source = trim(text.substr(start, end ? *end - start : 40));
      if (!end) return std::unexpected(fmt::format("${{{{ {}: {}", source, end.error()));
      if (const auto checked = check_expression(source); !checked) return std::unexpected(checked.error());
      flush();
      pieces.push_back({.expression = true, .text = std::string(source)});
      at = *end + kClose.size();
    }
  }
  flush();
  return pieces;
}

std::expected<void, std::string> check_expression(std::string_view source) {
  if (trim(source).empty()) return std::unexpected("an expression is empty");
  if (source.size() > kExpressionBytes) {
    return std::unexpected(fmt::format("an expression is longer than {} bytes", kExpressionBytes));
  }
  if (source.find('\0') != std::string_view::npos) return std::unexpected("an expression holds a NUL character");
  const auto end = Scanner().end_of(source, 0, false);
  if (!end) return std::unexpected(fmt::format("`{}`: {}", source.substr(0, 40), end.error()));
  return {};
}

}  // namespace agentd::workflow
