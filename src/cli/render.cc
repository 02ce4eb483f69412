#include "cli/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "cli/essentials.h"
#include "cli/fields.h"
#include "cli/paint.h"
#include "cli/printable.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kKindWidth = 20;  // of "conversation.removed"

// Long random ids are told apart by their first digits; --json and `agentd tasks` show them whole.
std::string short_id(const std::string& id) {
  constexpr std::size_t kWhole = 16;
  return characters(id) <= kWhole ? id : brief(id, 9);
}

std::string id_of(const Json& data, const char* key = "id") { return short_id(text_of(data, key)); }

std::string joined(const Json& list) {
  std::string out;
  if (!list.is_array()) return out;
  for (const auto& item : list) {
    if (!out.empty()) out += ", ";
    out += item.is_string() ? item.get<std::string>() : dump_json(item);
  }
  return out;
}

void gone(const Json& data, Line& line) { line.word(id_of(data)).word("is gone", Ink::kGrey); }

void task(const Json& data, Line& line) {
  const Json& task = member(data, "task");
  const std::string words = last_words(task);
  line.word(id_of(task)).state(state_name(member(task, "status"))).labelled("in", id_of(task, "contextId"));
  if (!words.empty()) line.word(fmt::format("\"{}\"", brief(words, Line::kWordWidth - 2)));
}

void run(const Json& data, Line& line) {
  line.word(text_of(data, "workflow"), Ink::kCyan).word(id_of(data)).state(text_of(data, "status"));
  const Json& steps = member(data, "steps");
  std::string counts;
  if (steps.is_object()) {
    for (const auto& [status, count] : steps.items()) {
      if (count != 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", dump_json(count), status);
    }
  }
  line.labelled("steps", counts).number(count_of(data, "tokens"), "tokens").fault(text_of(data, "error"));
}

void step(const Json& data, Line& line) {
  const std::uint64_t attempt = count_of(data, "attempt");
  line.word(text_of(data, "step"), Ink::kCyan).labelled("of", id_of(data, "run"));
  if (text_of(data, "phase") == "start") {
    line.word("started", Ink::kYellow).word(text_of(data, "kind"), Ink::kGrey);
  } else {
    line.state(text_of(data, "status"));
  }
  if (attempt > 1) line.word(fmt::format("attempt {}", attempt), Ink::kMagenta);
  line.number(count_of(data, "tokens"), "tokens").fault(text_of(data, "err"));
}

void conversation(const Json& data, Line& line) {
  line.word(id_of(data)).word(text_of(data, "kind"), Ink::kGrey);
  line.number(count_of(data, "messages"), "messages").number(count_of(data, "turns"), "turns");
  line.number(count_of(data, "est_tokens"), "tokens").labelled("skills", joined(member(data, "skills")));
  line.labelled("plan", brief(text_of(data, "plan"), 40));
}

void subagent(const Json& data, Line& line) {
  line.word(text_of(data, "handle"), Ink::kCyan).word(text_of(data, "mode"), Ink::kGrey).state(text_of(data, "status"));
  line.number(count_of(data, "tokens"), "tokens").fault(text_of(data, "error"));
}

void child(const Json& data, Line& line) {
  line.word(fmt::format("#{}", count_of(data, "node"))).word(text_of(data, "kind"), Ink::kCyan);
  line.labelled("pid", std::to_string(count_of(data, "pid")));
  line.labelled("age", age_text(static_cast<std::int64_t>(count_of(data, "age_ms"))));
  line.number(count_of(data, "tokens"), "tokens");
  if (flag_of(data, "cancelled")) line.word("cancelled", Ink::kMagenta);
}

void activity(const Json& data, Line& line) {
  line.word(text_of(data, "phase"), Ink::kYellow).word(text_of(data, "tool"), Ink::kCyan);
  line.labelled("for", text_of(data, "task").empty() ? id_of(data, "ctx") : id_of(data, "task"));
  line.labelled("round", std::to_string(count_of(data, "round")));
  line.number(count_of(data, "tokens_in"), "tokens in").number(count_of(data, "tokens_out"), "out");
}

void status(const Json& data, Line& line) {
  const Json& store = member(data, "store");
  line.word(text_of(data, "instance"), Ink::kCyan).labelled("model", text_of(data, "model"));
  line.labelled("version", text_of(data, "version")).labelled("store", text_of(store, "kind"));
  if (flag_of(store, "degraded")) line.fault("store degraded");
  if (flag_of(data, "draining")) line.word("draining", Ink::kMagenta);
  line.number(count_of(data, "inbox_pending"), "waiting");
}

void lifecycle(const Json& data, Line& line) {
  if (flag_of(data, "draining")) {
    line.word("draining", Ink::kMagenta);
  } else if (member(data, "paused").is_boolean()) {
    line.word(flag_of(data, "paused") ? "paused" : "resumed", Ink::kMagenta);
  }
  line.word(text_of(data, "reason"));
}

void config(const Json& data, Line& line) {
  line.word("changed").word(joined(member(data, "paths")), Ink::kCyan).labelled("by", text_of(data, "source"));
}

void audit(const Json& data, Line& line) {
  const std::string who = text_of(data, "principal");
  const Json& target = member(data, "target");
  line.word(who.empty() ? "nobody" : who).word(text_of(data, "action"), Ink::kCyan);
  if (!target.is_null()) line.word(target.is_string() ? target.get<std::string>() : dump_json(target));
  line.word(text_of(data, "outcome"), Ink::kYellow);
}

void auth(const Json& data, Line& line) {
  line.word(text_of(data, "event"), Ink::kYellow).word(text_of(data, "client_id"));
  line.labelled("as", text_of(data, "scope")).word(text_of(data, "user_code"), Ink::kCyan);
  line.labelled("name", text_of(data, "name"))
      .labelled("from", text_of(data, "peer"))
      .labelled("session", text_of(data, "sid"));
}

struct KindRow {
  std::string_view kind;
  Ink ink;
  void (*essentials)(const Json& data, Line& line);
};
constexpr std::array<KindRow, 18> kKinds = {{
    {"task", Ink::kBlue, task},
    {"task.removed", Ink::kGrey, gone},
    {"run", Ink::kBlue, run},
    {"run.removed", Ink::kGrey, gone},
    {"step", Ink::kPlain, step},
    {"conversation", Ink::kBlue, conversation},
    {"conversation.removed", Ink::kGrey, gone},
    {"subagent", Ink::kBlue, subagent},
    {"subagent.removed", Ink::kGrey, gone},
    {"child", Ink::kPlain, child},
    {"child.removed", Ink::kGrey, gone},
    {"activity", Ink::kPlain, activity},
    {"activity.removed", Ink::kGrey, gone},
    {"status", Ink::kGrey, status},
    {"lifecycle", Ink::kMagenta, lifecycle},
    {"config", Ink::kMagenta, config},
    {"audit", Ink::kGrey, audit},
    {"auth", Ink::kMagenta, auth},
}};

std::string clock_text(std::uint64_t epoch_ms, const Style& style) {
  constexpr std::uint64_t kLastYear = 253'402'300'799'999;  // 9999-12-31
  const auto ms = std::min(epoch_ms, kLastYear);
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  if (style.utc) {
    ::gmtime_r(&seconds, &parts);
  } else {
    ::localtime_r(&seconds, &parts);
  }
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min, parts.tm_sec, ms % 1000);
}

std::string line_of(std::string_view when, std::string_view kind, Ink ink, std::string essentials, const Style& style) {
  return fmt::format("{}  {}  {}", paint(padded(std::string(when), 12), Ink::kGrey, style.colour),
                     paint(padded(brief(kind, kKindWidth), kKindWidth), ink, style.colour), essentials);
}

}  // namespace

std::string render_event(const Json& event, const Style& style) {
  const std::string kind = text_of(event, "kind");
  const Json& data = member(event, "data");
  const std::string when = clock_text(count_of(event, "ts"), style);
  Line line(style);
  const auto* row = std::ranges::find(kKinds, kind, &KindRow::kind);
  if (row == kKinds.end()) {
    line.word(dump_json(data));
    return line_of(when, kind, Ink::kPlain, line.take(), style);
  }
  row->essentials(data, line);
  return line_of(when, kind, row->ink, line.take(), style);
}

std::string render_current(const Json& current, const Style& style) {
  Line line(style);
  task({{"task", current}}, line);
  return line_of("now", "task", Ink::kBlue, line.take(), style);
}

std::vector<std::string> event_kinds() {
  std::vector<std::string> kinds;
  for (const auto& row : kKinds) kinds.emplace_back(row.kind);
  return kinds;
}

std::string age_text(std::int64_t ms) {
  const std::int64_t seconds = std::max<std::int64_t>(ms, 0) / 1000;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 120 * 60) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86'400);
}

}  // namespace agentd::cli
