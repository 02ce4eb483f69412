// The part of render.h that shows tasks one is looking for, rather than events that come.
#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"
#include "cli/fields.h"
#include "cli/paint.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kWordsWidth = 60;
constexpr std::size_t kContextWidth = 24;
constexpr std::size_t kStateWidth = 14;

std::string age_of(const Json& task, std::int64_t now_ms) {
  const auto stamp = parse_rfc3339(text_of(member(task, "status"), "timestamp"));
  return stamp ? age_text(now_ms - *stamp) : "?";
}

std::string indented(std::string_view text) {
  std::string out = "    ";
  for (const char c : many_lines(text)) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out + "\n";
}

std::string heading(std::string_view text, const Style& style) { return paint(text, Ink::kCyan, style.colour) + "\n"; }

std::string render_history(const Json& history, const Style& style) {
  std::string out;
  for (const auto& message : history) {
    const bool user = text_of(message, "role") == "ROLE_USER";
    out += heading(user ? "  user" : "  agent", style) + indented(words_of(member(message, "parts")));
  }
  return out;
}

std::string render_artifacts(const Json& artifacts, const Style& style) {
  std::string out;
  for (const auto& artifact : artifacts) {
    const std::string name = text_of(artifact, "name");
    out += heading("  artifact " + one_line(name.empty() ? text_of(artifact, "artifactId") : name), style);
    out += indented(words_of(member(artifact, "parts")));
  }
  return out;
}

}  // namespace

std::string render_tasks(const std::vector<Json>& tasks, std::int64_t now_ms, const Style& style) {
  if (tasks.empty()) return "no tasks\n";
  std::size_t id_width = 2;
  for (const auto& task : tasks) id_width = std::max(id_width, characters(one_line(text_of(task, "id"))));
  id_width = std::min<std::size_t>(id_width, 64);
  const auto row = [&](const std::string& id, const std::string& state, const std::string& age,
                       const std::string& context, const std::string& words) {
    return fmt::format("{}  {}  {:>4}  {}  {}\n", padded(id, id_width),
                       paint(padded(state, kStateWidth), ink_of_state(state), style.colour), age,
                       padded(context, kContextWidth), words);
  };
  std::string out = row("ID", "STATE", "AGE", "CONTEXT", "LAST WORDS");
  for (const auto& task : tasks) {
    out += row(brief(text_of(task, "id"), id_width), brief(state_name(member(task, "status")), kStateWidth),
               age_of(task, now_ms), brief(text_of(task, "contextId"), kContextWidth),
               brief(last_words(task), kWordsWidth));
  }
  return out;
}

std::string render_task(const Json& task, std::int64_t now_ms, const Style& style) {
  const std::string state = one_line(state_name(member(task, "status")));
  std::string out = fmt::format("task     {}\nstate    {}, for {}\ncontext  {}\n", one_line(text_of(task, "id")),
                                paint(state, ink_of_state(state), style.colour), age_of(task, now_ms),
                                one_line(text_of(task, "contextId")));
  const Json& notes = member(member(task, "metadata"), "https://agentd.dev/a2a/ext/task-annotations");
  if (notes.is_object()) {
    const Json& link = member(notes, "link");
    out += fmt::format("done by  {} {}\n", one_line(text_of(link, "kind")), one_line(text_of(link, "id")));
    out += fmt::format("created  {}\n", one_line(text_of(notes, "created")));
  }
  if (const Json& words = member(member(member(task, "status"), "message"), "parts"); words.is_array()) {
    out += "says\n" + indented(words_of(words));
  }
  if (const Json& history = member(task, "history"); history.is_array()) out += render_history(history, style);
  if (const Json& artifacts = member(task, "artifacts"); artifacts.is_array())
    out += render_artifacts(artifacts, style);
  return out;
}

}  // namespace agentd::cli
