#include "feed/kind_schemas.h"

#include "feed/task_limits.h"
#include "schema/terms.h"

namespace agentd::feed {
namespace {

using namespace schema::terms;

// The A2A 1.0.1 shapes, closed: what is ours goes into `metadata` only.
Json part() {
  Json out = closed({{"text?", text()},
                     {"raw?", text()},
                     {"url?", text()},
                     {"data?", any()},
                     {"metadata?", object()},
                     {"filename?", text()},
                     {"mediaType?", text()}});
  out["oneOf"] = Json::array();
  for (const char* content : {"text", "raw", "url", "data"}) {
    out["oneOf"].push_back({{"required", Json::array({content})}});
  }
  return out;
}

Json message() {
  Json parts = list(part());
  parts["minItems"] = 1;
  return closed({{"messageId", text()},
                 {"contextId?", text()},
                 {"taskId?", text()},
                 {"role", word_of({"ROLE_USER", "ROLE_AGENT"})},
                 {"parts", parts},
                 {"metadata?", object()},
                 {"extensions?", list(text())},
                 {"referenceTaskIds?", list(text())}});
}

Json task_status() {
  return closed({{"state", word_of({"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED",
                                    "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_INPUT_REQUIRED",
                                    "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED"})},
                 {"message?", message()},
                 {"timestamp?", text()}});
}

// `parts` may be empty here: an artifact too big for the feed goes by its id.
Json artifact() {
  return closed({{"artifactId", text()},
                 {"name?", text()},
                 {"description?", text()},
                 {"parts", list(part())},
                 {"metadata?", object()},
                 {"extensions?", list(text())}});
}

// An object in `allOf`: when `event` is one of `words`, then `then`.
Json when_event(std::initializer_list<std::string_view> words, Json then) {
  return {{"if", {{"properties", {{"event", word_of(words)}}}, {"required", Json::array({"event"})}}},
          {"then", std::move(then)}};
}

Json required(const char* member) { return {{"required", Json::array({member})}}; }

}  // namespace

Json task_schema() {
  Json history = list(message());
  history["maxItems"] = kHistoryMessages;
  return closed({{"task", closed({{"id", text()},
                                  {"contextId?", text()},
                                  {"status", task_status()},
                                  {"artifacts?", list(artifact())},
                                  {"history?", history},
                                  {"metadata?", object()}})}});
}

Json removed_schema() { return closed({{"id", text()}}); }

Json run_schema() {
  Json steps = object();
  steps["additionalProperties"] = count();
  return closed({{"id", text()},
                 {"workflow", text()},
                 {"status", text()},
                 {"start", text()},
                 {"steps", steps},
                 {"tokens", count()},
                 {"created", count()},
                 {"updated", count()},
                 {"finished", nullable_count()},
                 {"output", any()},
                 {"error", nullable_text()},
                 {"task", nullable_text()},
                 {"principal", nullable_text()}});
}

Json step_schema() {
  Json err = nullable_text();
  err["maxLength"] = kErrCharacters;
  return one_of(
      {closed({{"run", text()}, {"step", text()}, {"kind", text()}, {"phase", exactly("start")}, {"attempt", count()}}),
       closed({{"run", text()},
               {"step", text()},
               {"phase", exactly("done")},
               {"status", text()},
               {"attempt", count()},
               {"tokens", count()},
               {"err", err}})});
}

Json conversation_schema() {
  return closed({{"id", text()},
                 {"contextId", text()},
                 {"kind", text()},
                 {"version", count()},
                 {"messages", count()},
                 {"est_tokens", count()},
                 {"turns", count()},
                 {"principal", nullable_text()},
                 {"skills", list(text())},
                 {"plan", nullable_text()},
                 {"updated", count()}});
}

Json subagent_schema() {
  return closed({{"handle", text()},
                 {"mode", text()},
                 {"status", text()},
                 {"tokens", count()},
                 {"error", nullable_text()},
                 {"updated", count()}});
}

Json child_schema() {
  return closed({{"node", count()},
                 {"pid", count()},
                 {"kind", text()},
                 {"age_ms", count()},
                 {"tokens", count()},
                 {"cancelled", flag()}});
}

Json activity_schema() {
  return closed({{"id", text()},
                 {"task", nullable_text()},
                 {"ctx", nullable_text()},
                 {"phase", word_of({"thinking", "tool", "waiting"})},
                 {"tool", nullable_text()},
                 {"round", count()},
                 {"tokens_in", count()},
                 {"tokens_out", count()},
                 {"started_ms", count()},
                 {"updated_ms", count()}});
}

Json status_schema() {
  return closed({{"instance", text()},
                 {"model", text()},
                 {"version", text()},
                 {"draining", flag()},
                 {"inbox_pending", count()},
                 {"counters", object()},
                 {"budget", object()},
                 {"store", closed({{"kind", text()}, {"degraded", flag()}})},
                 {"values", object()},
                 {"skill_prefix", text()}});
}

Json lifecycle_schema() {
  return one_of({closed({{"draining", exactly(true)}, {"reason", text()}}),
                 closed({{"paused", exactly(true)}, {"reason", text()}}), closed({{"paused", exactly(false)}})});
}

Json config_schema() { return closed({{"paths", list(text())}, {"source", word_of({"reload", "admin.set"})}}); }

Json audit_schema() {
  return closed({{"ts", count()},
                 {"principal", nullable_text()},
                 {"role", nullable_text()},
                 {"action", text()},
                 {"target", any()},
                 {"outcome", text()},
                 {"sid?", text()}});
}

Json auth_schema() {
  Json out = closed({{"event", word_of({"pending", "approved", "denied", "revoked", "launch"})},
                     {"client_id", text()},
                     {"scope", word_of({"user", "operator"})},
                     {"user_code?", text()},
                     {"peer?", text()},
                     {"sid?", text()},
                     {"name?", text()}});
  out["allOf"] = Json::array({when_event({"pending", "approved", "denied"}, required("user_code")),
                              when_event({"revoked", "launch"}, required("sid")),
                              when_event({"launch"}, {{"properties", {{"scope", exactly("operator")}}}})});
  return out;
}

}  // namespace agentd::feed
