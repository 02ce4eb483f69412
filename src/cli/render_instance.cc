#include "cli/render_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/essentials.h"
#include "cli/fields.h"
#include "cli/table.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kNewestRuns = 5;

// The array `key`, or an empty one.
const Json& list_of(const Json& document, const char* key) {
  static const Json kNone = Json::array();
  const Json& list = member(document, key);
  return list.is_array() ? list : kNone;
}

bool is_live(const Json& run) { return member(run, "finished").is_null(); }

std::string since(const Json& value, const char* key, std::int64_t now_ms) {
  return age_text(now_ms - static_cast<std::int64_t>(count_of(value, key)));
}

// "2/5": of the steps of a run, those that nothing more comes of.
std::string progress(const Json& run) {
  constexpr std::array<std::string_view, 3> kToCome = {"pending", "running", "suspended"};
  const Json& steps = member(run, "steps");
  if (!steps.is_object()) return {};
  std::uint64_t all = 0;
  std::uint64_t ended = 0;
  for (const auto& [status, count] : steps.items()) {
    const std::uint64_t number = count_of(steps, status.c_str());
    all += number;
    if (std::ranges::find(kToCome, status) == kToCome.end()) ended += number;
  }
  return fmt::format("{}/{}", ended, all);
}

class Facts final {
 public:
  explicit Facts(const Style& style) : style_(style) {}
  void add(std::string_view label, const std::string& value, Ink ink = Ink::kPlain) {
    if (!value.empty()) out_ += fmt::format("{:<9}  {}\n", label, Line(style_).word(value, ink).take());
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  const Style& style_;
  std::string out_;
};

void add_state(const Json& status, Facts& facts) {
  if (flag_of(status, "draining")) return facts.add("state", "draining", Ink::kMagenta);
  if (flag_of(status, "paused")) return facts.add("state", "paused", Ink::kMagenta);
  facts.add("state", "running", Ink::kGreen);
}

void add_store(const Json& store, Facts& facts) {
  const bool degraded = flag_of(store, "degraded");
  facts.add("store", text_of(store, "kind") + (degraded ? ", degraded" : ""), degraded ? Ink::kRed : Ink::kPlain);
}

void add_work(const Json& status, Facts& facts) {
  const Json& turns = list_of(status, "activity");
  const auto waiting =
      std::ranges::count_if(turns, [](const Json& turn) { return text_of(turn, "phase") == "waiting"; });
  facts.add("turns", fmt::format("{} at work, {} waiting", static_cast<std::int64_t>(turns.size()) - waiting, waiting));
  facts.add("runs", fmt::format("{} live, {} in all", std::ranges::count_if(list_of(status, "runs"), is_live),
                                count_of(status, "runs_total")));
  if (const auto inbox = count_of(status, "inbox_pending"); inbox > 0)
    facts.add("messages", fmt::format("{} waiting", inbox));
  std::string names;
  for (const auto& workflow : list_of(status, "workflows")) {
    names += (names.empty() ? "" : ", ") + text_of(workflow, "name");
  }
  facts.add("workflows", names);
}

std::string newest_runs(const Json& runs, std::int64_t now_ms, const Style& style) {
  if (runs.empty()) return {};
  Table table({"RUN", "WORKFLOW", "STATUS", "STEPS", "SINCE", "ERROR"});
  for (std::size_t i = 0; i < std::min(runs.size(), kNewestRuns); ++i) {
    const Json& run = runs[i];
    const std::string state = text_of(run, "status");
    table.add({text_of(run, "id"),
               text_of(run, "workflow"),
               {state, ink_of_state(state)},
               progress(run),
               since(run, "created", now_ms),
               {text_of(run, "error"), Ink::kRed}});
  }
  return "\n" + table.text(style);
}

// ---- ps

// Takes the processes that work for `owner` ("step:<run>", "subagent:<handle>") out of `children`.
Json taken(Json& children, const std::string& owner) {
  Json mine = Json::array();
  Json others = Json::array();
  for (auto& child : children) {
    const bool is_mine = (text_of(child, "kind") + "/").starts_with(owner + "/");
    (is_mine ? mine : others).push_back(std::move(child));
  }
  children = std::move(others);
  return mine;
}

std::string turn_line(const Json& turn, std::int64_t now_ms, const Style& style) {
  Line line(style);
  line.word("turn", Ink::kBlue).word(text_of(turn, "task"));
  line.word(text_of(turn, "phase"), text_of(turn, "phase") == "waiting" ? Ink::kMagenta : Ink::kYellow);
  line.word(text_of(turn, "tool"), Ink::kCyan).labelled("in", text_of(turn, "ctx"));
  line.labelled("round", std::to_string(count_of(turn, "round"))).labelled("age", since(turn, "started_ms", now_ms));
  line.number(count_of(turn, "tokens_in"), "tokens in").number(count_of(turn, "tokens_out"), "out");
  return line.take() + "\n";
}

std::string run_line(const Json& run, std::int64_t now_ms, const Style& style) {
  Line line(style);
  line.word("run", Ink::kBlue).word(text_of(run, "id")).word(text_of(run, "workflow"), Ink::kCyan);
  line.state(text_of(run, "status")).labelled("steps", progress(run)).labelled("age", since(run, "created", now_ms));
  line.number(count_of(run, "tokens"), "tokens").labelled("for", text_of(run, "task"));
  return line.take() + "\n";
}

std::string subagent_line(const Json& subagent, const Style& style) {
  Line line(style);
  line.word("subagent", Ink::kBlue)
      .word(text_of(subagent, "handle"), Ink::kCyan)
      .word(text_of(subagent, "mode"), Ink::kGrey);
  line.state(text_of(subagent, "status")).number(count_of(subagent, "tokens"), "tokens");
  return line.take() + "\n";
}

std::string child_line(const Json& child, std::string_view name, const Style& style) {
  Line line(style);
  line.word(name, Ink::kCyan).labelled("pid", std::to_string(count_of(child, "pid")));
  line.labelled("age", age_text(static_cast<std::int64_t>(count_of(child, "age_ms"))));
  line.number(count_of(child, "tokens"), "tokens");
  if (flag_of(child, "cancelled")) line.word("cancelled", Ink::kMagenta);
  return line.take() + "\n";
}

// The processes of a run or a subagent, below it. Of step:<run>/weeks the step is new.
std::string branches(const Json& owner, const Style& style) {
  std::string out;
  const Json& children = list_of(owner, "children");
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::string kind = text_of(children[i], "kind");
    const auto slash = kind.find('/');
    out += i + 1 == children.size() ? "└─ " : "├─ ";
    out += child_line(children[i], slash == std::string::npos ? kind : "step " + kind.substr(slash + 1), style);
  }
  return out;
}

}  // namespace

std::string render_status(const Json& status, std::int64_t now_ms, const Style& style) {
  Facts facts(style);
  facts.add("name", text_of(status, "instance"));
  facts.add("version", fmt::format("{}, up {}", text_of(status, "version"),
                                   age_text(static_cast<std::int64_t>(count_of(status, "uptime_ms")))));
  add_state(status, facts);
  facts.add("model", text_of(status, "model"));
  add_store(member(status, "store"), facts);
  add_work(status, facts);
  return facts.take() + newest_runs(list_of(status, "runs"), now_ms, style);
}

Json work_tree(const Json& status) {
  Json children = list_of(status, "children");
  Json runs = Json::array();
  for (Json run : list_of(status, "runs")) {
    if (!run.is_object() || !is_live(run)) continue;
    run["children"] = taken(children, "step:" + text_of(run, "id"));
    runs.push_back(std::move(run));
  }
  Json subagents = Json::array();
  for (Json subagent : list_of(status, "subagents")) {
    if (!subagent.is_object()) continue;
    subagent["children"] = taken(children, "subagent:" + text_of(subagent, "handle"));
    subagents.push_back(std::move(subagent));
  }
  return {{"turns", list_of(status, "activity")},
          {"runs", std::move(runs)},
          {"subagents", std::move(subagents)},
          {"children", std::move(children)}};
}

std::string render_work(const Json& tree, std::int64_t now_ms, const Style& style) {
  std::string out;
  for (const auto& turn : list_of(tree, "turns")) out += turn_line(turn, now_ms, style);
  for (const auto& run : list_of(tree, "runs")) out += run_line(run, now_ms, style) + branches(run, style);
  for (const auto& subagent : list_of(tree, "subagents"))
    out += subagent_line(subagent, style) + branches(subagent, style);
  for (const auto& child : list_of(tree, "children")) out += child_line(child, text_of(child, "kind"), style);
  return out.empty() ? "nothing is at work\n" : out;
}

}  // namespace agentd::cli
