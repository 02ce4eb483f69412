// Line: what is essential about one thing, gathered word by word into a line, with two blanks between words. What is
// empty is left out. Each word passes printable.h.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cli/paint.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {

class Line final {
 public:
  static constexpr std::size_t kWordWidth = 100;

  explicit Line(const Style& style) : style_(style) {}

  Line& word(std::string_view text, Ink ink = Ink::kPlain) {
    if (text.empty()) return *this;
    if (!out_.empty()) out_ += "  ";
    out_ += paint(brief(text, kWordWidth), ink, style_.colour);
    return *this;
  }
  Line& state(const std::string& name) { return word(name, ink_of_state(name)); }
  // "label value", left out when there is no value.
  Line& labelled(std::string_view label, const std::string& value) {
    return value.empty() ? *this : word(fmt::format("{} {}", label, value), Ink::kGrey);
  }
  Line& number(std::uint64_t count, std::string_view unit) {
    return count == 0 ? *this : word(fmt::format("{} {}", count, unit), Ink::kGrey);
  }
  Line& fault(const std::string& text) { return word(text, Ink::kRed); }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  const Style& style_;
  std::string out_;
};

}  // namespace agentd::cli
