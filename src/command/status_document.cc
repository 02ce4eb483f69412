#include "command/status_document.h"

#include <algorithm>
#include <vector>

#include "base/json_writer.h"
#include "feed/payload_json.h"

namespace agentd::command {
namespace {

constexpr std::size_t kNewest = 500;

// Most of it is what did not change since it was read last: each run that has ended, and each conversation, keeps its text.

// A member that is an array of what the feed tells.
class Items {
 public:
  Items(ObjectWriter& object, std::string_view name, std::string& out) : out_(out), list_((object.key(name), out)) {}
  void next() { list_.next(); }
  template <class Payload>
  void add(const Payload& payload) {
    next();
    feed::append_data(out_, payload);
  }
  void add_text(std::string_view json) {
    next();
    out_ += json;
  }
  void close() { list_.close(); }

 private:
  std::string& out_;
  ArrayWriter list_;
};

std::vector<std::string> names_of(const runtime::Skills& skills) {
  std::vector<std::string> out;
  for (const runtime::Skill& skill : skills.all()) out.push_back(skill.name);
  return out;
}

void add_workflows(ObjectWriter& status, std::string& out, const runtime::Runs& runs, const access::Caller& caller) {
  Items rows(status, "workflows", out);
  for (const auto& [name, known] : runs.workflows()) {
    if (!access::may_run_workflow(caller, name)) continue;
    rows.next();
    ObjectWriter row(out);
    row.text("name", name);
    if (caller.viewer.is_operator) {
      row.text("hash", known.workflow->hash).flag("armed", true);
      row.json("starts", known.workflow->command ? Json::array({"a2a"}) : Json::array());
    }
    row.close();
  }
  rows.close();
}

void add_runs(ObjectWriter& status, std::string& out, const runtime::Runs& runs, const feed::Viewer& viewer) {
  Items rows(status, "runs", out);
  runs.newest(viewer, kNewest, [&rows](const runtime::RunFacts& facts) {
    if (!workflow::is_terminal(facts.status)) return rows.add(runtime::payload(facts));
    if (facts.shown.empty()) feed::append_data(facts.shown, runtime::payload(facts));
    rows.add_text(facts.shown);
  });
  rows.close();
  status.count("runs_total", runs.count(viewer));
}

void add_conversations(ObjectWriter& status, std::string& out, const runtime::Conversations& conversations,
                       const feed::Viewer& viewer) {
  std::vector<const runtime::Conversation*> visible;
  for (const auto& [id, conversation] : conversations.all()) {
    if (feed::may_see(viewer, feed::Visibility::owner(conversation.principal))) visible.push_back(&conversation);
  }
  status.count("conversations_total", visible.size());
  const auto end = visible.begin() + static_cast<std::ptrdiff_t>(std::min(kNewest, visible.size()));
  std::ranges::partial_sort(visible, end, std::ranges::greater{}, &runtime::Conversation::updated_ms);
  visible.erase(end, visible.end());
  Items rows(status, "conversations", out);
  for (const auto* conversation : visible) {
    if (conversation->shown.empty())
      feed::append_data(conversation->shown, runtime::Conversations::payload(*conversation));
    rows.add_text(conversation->shown);
  }
  rows.close();
}

void add_activities(ObjectWriter& status, std::string& out, const runtime::Turns& turns, const feed::Viewer& viewer) {
  Items rows(status, "activity", out);
  for (const auto& [owner, activity] : turns.activities()) {
    if (feed::may_see(viewer, feed::Visibility::owner(owner))) rows.add(activity);
  }
  rows.close();
}

// What is the operator's alone.
void add_inside(ObjectWriter& status, std::string& out, const StatusSources& sources, const feed::Status& slim) {
  status.key("store");
  ObjectWriter store(out);
  store.text("kind", slim.store_kind).flag("degraded", slim.store_degraded).count("generation", 1);
  store.close();
  Items subagents(status, "subagents", out);
  for (const feed::Subagent& subagent : sources.subagents.all()) subagents.add(subagent);
  subagents.close();
  Items children(status, "children", out);
  for (const feed::Child& child : sources.children.all()) children.add(child);
  children.close();
  status.count("timers", 0)
      .count("inbox_pending", slim.inbox_pending)
      .json("budget", slim.budget)
      .count("tools", sources.tools.all().size());
  status.json("counters", slim.counters).count("conversation_bindings", sources.conversations.all().size());
}

}  // namespace

std::string status_document(const StatusSources& sources, const access::Caller& caller) {
  const feed::Viewer& viewer = caller.viewer;
  const feed::Status slim = sources.instance.payload();
  std::string out;
  out.reserve(256U << 10U);  // less than what 500 runs and as many conversations take
  ObjectWriter status(out);
  status.text("instance", slim.instance).count("uptime_ms", static_cast<feed::Count>(sources.instance.uptime_ms()));
  status.flag("draining", slim.draining).flag("paused", sources.instance.paused());
  status.text("model", slim.model).text("version", slim.version).texts("skills", names_of(sources.skills));
  status.text("skill_prefix", slim.skill_prefix).json("values", slim.values);
  add_workflows(status, out, sources.runs, caller);
  add_runs(status, out, sources.runs, viewer);
  add_conversations(status, out, sources.conversations, viewer);
  add_activities(status, out, sources.turns, viewer);
  if (viewer.is_operator) add_inside(status, out, sources, slim);
  if (sources.with_seq) status.count("seq", sources.feed.window().newest);
  status.close();
  return out;
}

}  // namespace agentd::command
