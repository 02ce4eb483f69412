#include "llm/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>

namespace agentd::llm {
namespace {

constexpr std::size_t kFilledBytes = 1U << 20U;
constexpr std::string_view kOpen = "${";
constexpr std::string_view kEscaped = "$${";

// One step through a text: plain text, or the name of a value.
struct Token {
  std::string_view plain = {};
  std::optional<std::string_view> name = {};
  bool unclosed = false;
};

// Takes the first token off `rest`, which is not empty.
Token next_token(std::string_view& rest) {
  const auto take = [&rest](std::size_t bytes) {
    const std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(taken.size());
    return taken;
  };
  if (rest.starts_with(kEscaped)) {
    take(1);
    return {.plain = take(kOpen.size())};
  }
  if (rest.starts_with(kOpen)) {
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos) return {.plain = take(rest.size()), .unclosed = true};
    return {.name = take(close + 1).substr(kOpen.size(), close - kOpen.size())};
  }
  return {.plain = take(std::max<std::size_t>(1, std::min(rest.find('$', 1), rest.size())))};
}

std::optional<std::size_t> group_of(std::string_view name) {
  std::size_t group = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), group);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return group;
}

void fill_in_place(std::string& text, const Values& values) { text = fill(std::string_view(text), values); }

void fill_in_place(Json& value, const Values& values) {
  if (value.is_string()) {
    value = fill(std::string_view(value.get_ref<const std::string&>()), values);
  } else if (value.is_structured()) {
    for (Json& inner : value) fill_in_place(inner, values);
  }
}

}  // namespace

std::string check_fill(std::string_view text, std::size_t groups) {
  while (!text.empty()) {
    const Token token = next_token(text);
    if (token.unclosed) return "a ${ is never closed; write $${ for the text ${";
    if (!token.name || *token.name == "text") continue;
    const auto group = group_of(*token.name);
    if (!group)
      return fmt::format("${{{}}} is nothing that can be filled in; there are ${{text}}, ${{0}}, ${{1}} …",
                         *token.name);
    if (*group > groups) return fmt::format("${{{}}}: the rule's expression has {} groups", *group, groups);
  }
  return "";
}

std::string fill(std::string_view text, const Values& values) {
  std::string out;
  while (!text.empty() && out.size() <= kFilledBytes) {
    const Token token = next_token(text);
    out += token.plain;
    if (!token.name) continue;
    const auto group = group_of(*token.name);
    if (!group) {
      out += values.text;
    } else if (*group < values.groups.size()) {
      out += values.groups[*group];
    }
  }
  return cut_text(out, kFilledBytes);
}

Action fill(Action action, const Values& values) {
  std::visit(
      [&values](auto& value) {
        using Kind = std::remove_cvref_t<decltype(value)>;
        const auto fill_all = [&values](auto&... texts) { (fill_in_place(texts, values), ...); };
        if constexpr (std::is_same_v<Kind, Text> || std::is_same_v<Kind, Say>) {
          fill_all(value.text);
        } else if constexpr (std::is_same_v<Kind, Artifact>) {
          fill_all(value.name, value.id, value.description, value.parts);
        } else if constexpr (std::is_same_v<Kind, Chunks>) {
          fill_all(value.artifact, value.text);
        } else if constexpr (std::is_same_v<Kind, SetState>) {
          fill_all(value.message);
        } else if constexpr (std::is_same_v<Kind, DirectMessage>) {
          fill_all(value.parts);
        } else if constexpr (std::is_same_v<Kind, RunWorkflow>) {
          fill_all(value.name, value.inputs);
        } else if constexpr (std::is_same_v<Kind, UseTool>) {
          fill_all(value.name);
        } else {
          static_assert(std::is_same_v<Kind, Delay>, "an action of a new kind says here which of its texts are filled");
        }
      },
      action);
  return action;
}

}  // namespace agentd::llm
