#include "command/result_schemas.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "feed/kind_schemas.h"
#include "schema/terms.h"

namespace agentd::command::result {
namespace {

using namespace schema::terms;

Json done() { return exactly(true); }
Json scope() { return word_of({"user", "operator"}); }

// Operators see all of a workflow, others its name.
Json workflow() {
  return one_of({closed({{"name", text()}}),
                 closed({{"name", text()}, {"hash", text()}, {"armed", flag()}, {"starts", list(text())}})});
}

Json counters() {
  return closed({{"turns", count()},
                 {"tool_calls", count()},
                 {"runs_started", count()},
                 {"runs_finished", count()},
                 {"tokens_in", count()},
                 {"tokens_out", count()}});
}

// All of the members or none.
Json together(std::initializer_list<std::string_view> members) {
  Json all = {{"required", Json::array()}};
  Json some = {{"anyOf", Json::array()}};
  for (const std::string_view member : members) {
    all["required"].push_back(member);
    some["anyOf"].push_back({{"required", Json::array({member})}});
  }
  return {{"anyOf", Json::array({std::move(all), {{"not", std::move(some)}}})}};
}

}  // namespace

Json anything() { return true; }

Json nothing() { return false; }

Json status() {
  Json out = closed({{"instance", text()},
                     {"uptime_ms", count()},
                     {"draining", flag()},
                     {"paused", flag()},
                     {"model", text()},
                     {"version", text()},
                     {"skills", list(any())},
                     {"skill_prefix", text()},
                     {"values", object()},
                     {"workflows", list(workflow())},
                     {"runs", list(feed::run_schema())},
                     {"runs_total", count()},
                     {"conversations", list(feed::conversation_schema())},
                     {"conversations_total", count()},
                     {"activity", list(feed::activity_schema())},
                     {"store?", closed({{"kind", text()}, {"degraded", flag()}, {"generation", count()}})},
                     {"subagents?", list(feed::subagent_schema())},
                     {"children?", list(feed::child_schema())},
                     {"timers?", count()},
                     {"inbox_pending?", count()},
                     {"budget?", object()},
                     {"tools?", count()},
                     {"counters?", counters()},
                     {"conversation_bindings?", count()},
                     {"seq?", count()}});
  out.erase("additionalProperties");
  out.update(together({"store", "subagents", "children", "timers", "inbox_pending", "budget", "tools", "counters",
                       "conversation_bindings"}));
  return out;
}

Json config() { return closed({{"config", object()}}); }

Json workflow_status() {
  return closed({{"runs", list(closed({{"run", text()},
                                       {"workflow", text()},
                                       {"status", text()},
                                       {"output", any()},
                                       {"error", nullable_text()}}))}});
}

Json workflow_signal() { return closed({{"signal", text()}, {"delivered", count()}}); }

Json subagent_told() { return closed({{"ok", flag()}, {"handle?", text()}}); }

Json subagent_status() {
  return closed(
      {{"handle", text()}, {"status", text()}, {"mode?", text()}, {"result?", any()}, {"error?", nullable_text()}});
}

Json plan_get() { return closed({{"conversation", text()}, {"plan", nullable_text()}, {"progress", any()}}); }

Json conversation_get() {
  return closed({{"conversation", closed({{"id", text()},
                                          {"kind", text()},
                                          {"version", count()},
                                          {"turns", count()},
                                          {"est_tokens", count()},
                                          {"principal", nullable_text()},
                                          {"task", nullable_text()},
                                          {"skills", list(text())},
                                          {"plan", nullable_text()},
                                          {"summary", nullable_text()},
                                          {"total_messages", count()},
                                          {"messages", list(object())},
                                          {"updated", count()}})}});
}

// As on the feed, with each of its steps instead of how many there are.
Json run_get() {
  Json run = feed::run_schema();
  run["properties"]["steps"]["additionalProperties"] = closed({{"status", text()},
                                                               {"attempt", count()},
                                                               {"started", nullable_count()},
                                                               {"finished", nullable_count()},
                                                               {"error", nullable_text()},
                                                               {"wait", any()},
                                                               {"output", any()}});
  run["properties"]["vars"] = object();
  run["required"].push_back("vars");
  return closed({{"run", std::move(run)}});
}

Json subagent_get() {
  return closed({{"subagent", closed({{"handle", text()},
                                      {"mode", text()},
                                      {"status", text()},
                                      {"attempt", count()},
                                      {"tokens", count()},
                                      {"instruction", text()},
                                      {"result", any()},
                                      {"error", nullable_text()},
                                      {"requested_by", nullable_text()},
                                      {"created", count()},
                                      {"updated", count()},
                                      {"node", nullable_count()}})}});
}

// A line has the fields that it was written with.
Json debug_events() {
  Json line = closed(
      {{"seq", count()}, {"ts", text()}, {"level", word_of({"debug", "info", "warn", "error"})}, {"msg", text()}});
  line.erase("additionalProperties");
  return closed(
      {{"events", list(std::move(line))}, {"newest_seq", count()}, {"oldest_seq", count()}, {"dropped", count()}});
}

Json admin_drain() { return closed({{"ok", done()}, {"state", exactly("draining")}, {"reason", text()}}); }

Json admin_pause() {
  return one_of({closed({{"ok", done()}, {"paused", text()}}),
                 closed({{"ok", done()}, {"state", exactly("paused")}, {"reason", text()}})});
}

Json admin_resume() {
  return one_of(
      {closed({{"ok", done()}, {"resumed", text()}}), closed({{"ok", done()}, {"state", exactly("running")}})});
}

Json admin_cancel() { return closed({{"ok", done()}, {"cancelled", text()}}); }

Json admin_set() { return closed({{"path", text()}, {"value", any()}}); }

Json device_pending() {
  return closed({{"pending", list(closed({{"user_code", text()},
                                          {"client_id", text()},
                                          {"scope", scope()},
                                          {"peer", text()},
                                          {"requested_at", count()},
                                          {"expires_at", count()}}))}});
}

Json device_approve() {
  return closed({{"approved", closed({{"user_code", text()},
                                      {"client_id", text()},
                                      {"scope", scope()},
                                      {"peer", text()},
                                      {"principal", text()},
                                      {"existing", flag()}})}});
}

Json device_deny() { return closed({{"denied", count()}}); }

Json sessions() {
  return closed({{"sessions", list(closed({{"sid", text()},
                                           {"kind", word_of({"device", "launch"})},
                                           {"principal", text()},
                                           {"role", text()},
                                           {"client_id", text()},
                                           {"created_at", count()},
                                           {"expires_at", count()},
                                           {"approved_by", text()},
                                           {"name?", text()},
                                           {"approved_rule?", text()}}))}});
}

Json sessions_revoke() { return closed({{"revoked", count()}}); }

}  // namespace agentd::command::result
