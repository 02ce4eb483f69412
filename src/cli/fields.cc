#include "cli/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace agentd::cli {
namespace {

constexpr std::string_view kStatePrefix = "TASK_STATE_";

// "workflow.run workflow=report inputs={…}" of a command.
std::string words_of_command(const Json& command) {
  std::string words = text_of(command, "op");
  for (const auto& [name, value] : command.items()) {
    if (name == "op") continue;
    words += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return words;
}

std::string words_of_part(const Json& part) {
  if (member(part, "text").is_string()) return text_of(part, "text");
  if (const Json& command = member(member(part, "data"), "agentd"); command.is_object())
    return words_of_command(command);
  if (part.is_object() && part.contains("data")) return dump_json(part.at("data"));
  if (member(part, "url").is_string()) return text_of(part, "url");
  const std::string name = text_of(part, "filename");
  return fmt::format("[{}]", name.empty() ? "binary" : name);
}

}  // namespace

const Json& member(const Json& value, const char* key) {
  static const Json kNull;
  if (!value.is_object()) return kNull;
  const auto found = value.find(key);
  return found == value.end() ? kNull : *found;
}

std::string text_of(const Json& value, const char* key) {
  const Json& found = member(value, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::uint64_t count_of(const Json& value, const char* key) {
  const Json& found = member(value, key);
  if (!found.is_number_integer()) return 0;
  return !found.is_number_unsigned() && found.get<std::int64_t>() < 0 ? 0 : found.get<std::uint64_t>();
}

bool flag_of(const Json& value, const char* key) {
  const Json& found = member(value, key);
  return found.is_boolean() && found.get<bool>();
}

std::string state_name(const Json& status) {
  const std::string state = text_of(status, "state");
  return state.starts_with(kStatePrefix) ? state.substr(kStatePrefix.size()) : "?";
}

bool is_terminal(const std::string& state_name) {
  constexpr std::array<std::string_view, 4> kTerminal = {"COMPLETED", "FAILED", "CANCELED", "REJECTED"};
  return std::ranges::find(kTerminal, state_name) != kTerminal.end();
}

bool is_interrupted(const std::string& state_name) {
  return state_name == "INPUT_REQUIRED" || state_name == "AUTH_REQUIRED";
}

bool has_text(const Json& parts) {
  return parts.is_array() &&
         std::ranges::any_of(parts, [](const Json& part) { return member(part, "text").is_string(); });
}

std::string words_of(const Json& parts) {
  std::string words;
  if (!parts.is_array()) return words;
  for (const auto& part : parts) {
    if (!words.empty()) words += ' ';
    words += words_of_part(part);
  }
  return words;
}

std::string last_words(const Json& task) {
  std::string words = words_of(member(member(member(task, "status"), "message"), "parts"));
  if (const Json& artifacts = member(task, "artifacts"); words.empty() && artifacts.is_array()) {
    // The newest that is meant to be read.
    for (const auto& artifact : artifacts) {
      const Json& parts = member(artifact, "parts");
      if (has_text(parts)) words = words_of(parts);
    }
  }
  const Json& history = member(task, "history");
  if (words.empty() && history.is_array() && !history.empty()) words = words_of(member(history.back(), "parts"));
  return words;
}

}  // namespace agentd::cli
