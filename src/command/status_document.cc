#include "command/status_document.h"

#include <algorithm>
#include <vector>

#include "feed/payload_json.h"

namespace agentd::command {
namespace {

constexpr std::size_t kNewest = 500;

Json workflows_json(const runtime::Runs& runs, const access::Caller& caller) {
  Json out = Json::array();
  for (const auto& [name, known] : runs.workflows()) {
    if (!access::may_run_workflow(caller, name)) continue;
    Json row = {{"name", name}};
    if (caller.viewer.is_operator) {
      row["hash"] = known.workflow->hash;
      row["armed"] = true;
      row["starts"] = known.workflow->command ? Json::array({"a2a"}) : Json::array();
    }
    out.push_back(std::move(row));
  }
  return out;
}

void add_conversations(Json& out, const runtime::Conversations& conversations, const feed::Viewer& viewer) {
  std::vector<const runtime::Conversation*> visible;
  for (const auto& [id, conversation] : conversations.all()) {
    if (feed::may_see(viewer, feed::Visibility::owner(conversation.principal))) visible.push_back(&conversation);
  }
  std::ranges::sort(visible, std::ranges::greater{}, &runtime::Conversation::updated_ms);
  out["conversations_total"] = visible.size();
  if (visible.size() > kNewest) visible.resize(kNewest);
  out["conversations"] = Json::array();
  for (const auto* conversation : visible) {
    out["conversations"].push_back(feed::to_json(runtime::Conversations::payload(*conversation)));
  }
}

}  // namespace

Json status_document(const StatusSources& sources, const access::Caller& caller) {
  const feed::Viewer& viewer = caller.viewer;
  const feed::Status slim = sources.instance.payload();
  Json out = {{"instance", slim.instance}, {"uptime_ms", sources.instance.uptime_ms()},
              {"draining", slim.draining}, {"paused", sources.instance.paused()},
              {"model", slim.model},       {"version", slim.version},
              {"skills", Json::array()},   {"skill_prefix", slim.skill_prefix},
              {"values", slim.values},     {"workflows", workflows_json(sources.runs, caller)}};
  Json& runs = out["runs"] = Json::array();
  sources.runs.newest(viewer, kNewest, [&runs](const runtime::RunFacts& facts) {
    runs.push_back(feed::to_json(runtime::payload(facts)));
  });
  out["runs_total"] = sources.runs.count(viewer);
  add_conversations(out, sources.conversations, viewer);
  out["activity"] = Json::array();
  for (const auto& [owner, activity] : sources.turns.activities()) {
    if (feed::may_see(viewer, feed::Visibility::owner(owner))) out["activity"].push_back(feed::to_json(activity));
  }
  if (viewer.is_operator) {
    out["store"] = {{"kind", slim.store_kind}, {"degraded", slim.store_degraded}, {"generation", 1}};
    out["subagents"] = Json::array();
    out["children"] = Json::array();
    for (const feed::Child& child : sources.children.all()) out["children"].push_back(feed::to_json(child));
    out["timers"] = 0;
    out["inbox_pending"] = slim.inbox_pending;
    out["budget"] = slim.budget;
    out["tools"] = 0;
    out["counters"] = slim.counters;
    out["conversation_bindings"] = sources.conversations.all().size();
  }
  if (sources.with_seq) out["seq"] = sources.feed.window().newest;
  return out;
}

}  // namespace agentd::command
