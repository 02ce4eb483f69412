#include "command/ops.h"

#include <algorithm>
#include <array>
#include <string>

#include "a2a/extensions.h"
#include "command/result_schemas.h"

namespace agentd::command {
namespace {

// Arguments that several ops have.
constexpr std::string_view kNoArgs = R"({"type":"object","additionalProperties":false})";
constexpr std::string_view kHandle =
    R"({"type":"object","required":["handle"],"additionalProperties":false,"properties":{"handle":{"type":"string","minLength":1}}})";
constexpr std::string_view kRun =
    R"({"type":"object","required":["run"],"additionalProperties":false,"properties":{"run":{"type":"string","minLength":1}}})";
constexpr std::string_view kRunOrAll =
    R"({"type":"object","additionalProperties":false,"properties":{"run":{"type":"string","minLength":1}}})";

constexpr std::array kOps = {
    OpRow{Op::kStatus, "status", ReplyKind::kMessage, Reach::kAny, Gate::kNone,
          "The whole instance as the caller may see it, with the feed position it was read at.", kNoArgs,
          result::status},
    OpRow{Op::kConfig, "config", ReplyKind::kMessage, Reach::kOperator, Gate::kNone,
          "The configuration that holds now, secrets as ***.", kNoArgs, result::config},
    OpRow{Op::kWorkflowRun, "workflow.run", ReplyKind::kTask, Reach::kUserAndAgent, Gate::kNone,
          "Runs a workflow; the task is linked to the run and ends with its output.",
          R"({"type":"object","required":["workflow"],"additionalProperties":false,"properties":{)"
          R"("workflow":{"type":"string","minLength":1},"inputs":{"type":"object"}}})",
          result::anything},
    OpRow{Op::kWorkflowStatus, "workflow.status", ReplyKind::kMessage, Reach::kUserAndAgent, Gate::kNone,
          "One run, or the newest 500 that the caller may see.", kRunOrAll, result::workflow_status},
    OpRow{Op::kWorkflowCancel, "workflow.cancel", ReplyKind::kTask, Reach::kUser, Gate::kNone,
          "Ends a run of the caller's, its processes too.", kRun, result::nothing},
    OpRow{Op::kWorkflowSignal, "workflow.signal", ReplyKind::kTask, Reach::kGrant, Gate::kNone,
          "Tells runs of the sender's that wait for a signal; how many heard it.",
          R"({"type":"object","required":["name"],"additionalProperties":false,"properties":{)"
          R"("name":{"type":"string","minLength":1},"payload":true,"run":{"type":"string","minLength":1}}})",
          result::workflow_signal},
    OpRow{Op::kSubagentSend, "subagent.send", ReplyKind::kTask, Reach::kUser, Gate::kNone,
          "One more message for a subagent.",
          R"({"type":"object","required":["handle","message"],"additionalProperties":false,"properties":{)"
          R"("handle":{"type":"string","minLength":1},"message":{"type":"string","minLength":1}}})",
          result::subagent_told},
    OpRow{Op::kSubagentKill, "subagent.kill", ReplyKind::kTask, Reach::kGrant, Gate::kNone, "Ends a subagent at once.",
          R"({"type":"object","required":["handle"],"additionalProperties":false,"properties":{)"
          R"("handle":{"type":"string","minLength":1},"reason":{"type":"string"}}})",
          result::subagent_told},
    OpRow{Op::kSubagentStatus, "subagent.status", ReplyKind::kMessage, Reach::kUser, Gate::kNone,
          "How far a subagent is.", kHandle, result::subagent_status},
    OpRow{Op::kPlanGet, "plan.get", ReplyKind::kMessage, Reach::kUser, Gate::kNone,
          "The plan of a conversation; without an id, of root.",
          R"({"type":"object","additionalProperties":false,"properties":{"id":{"type":"string","minLength":1}}})",
          result::plan_get},
    OpRow{Op::kConversationGet, "conversation.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
          "A conversation and its newest messages, 200 without a limit; texts cut at 4,096 bytes.",
          R"({"type":"object","required":["id"],"additionalProperties":false,"properties":{)"
          R"("id":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":1000}}})",
          result::conversation_get},
    OpRow{Op::kRunGet, "run.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
          "A run with each of its steps; outputs cut at 2,048 bytes.", kRun, result::run_get},
    OpRow{Op::kSubagentGet, "subagent.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
          "All that is known of a subagent.", kHandle, result::subagent_get},
    OpRow{Op::kDebugEvents, "debug.events", ReplyKind::kMessage, Reach::kOperator, Gate::kIntrospection,
          "Lines of the log past a number, oldest first; 200 without a limit.",
          R"({"type":"object","additionalProperties":false,"properties":{"after":{"type":"integer","minimum":0},)"
          R"("limit":{"type":"integer","minimum":1,"maximum":500},"level":{"enum":["debug","info","warn","error"]},)"
          R"("prefix":{"type":"string"}}})",
          result::debug_events},
    OpRow{
        Op::kAdminDrain, "admin.drain", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
        "Takes no more work, lets what is at work end, and stops the daemon.",
        R"({"type":"object","additionalProperties":false,"properties":{"reason":{"type":"string","maxLength":1024}}})",
        result::admin_drain},
    OpRow{Op::kAdminPause, "admin.pause", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Holds back what has not started yet: of a run, or everywhere.",
          R"({"type":"object","additionalProperties":false,"properties":{"run":{"type":"string","minLength":1},)"
          R"("reason":{"type":"string","maxLength":1024}}})",
          result::admin_pause},
    OpRow{Op::kAdminResume, "admin.resume", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Goes on with a run, or everywhere.", kRunOrAll, result::admin_resume},
    OpRow{Op::kAdminCancel, "admin.cancel", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Ends a run, whoever's it is.",
          R"({"type":"object","required":["run"],"additionalProperties":false,"properties":{)"
          R"("run":{"type":"string","minLength":1},"reason":{"type":"string","maxLength":1024}}})",
          result::admin_cancel},
    OpRow{Op::kAdminSet, "admin.set", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Moves a setting until the next reload.",
          R"({"type":"object","required":["path","value"],"additionalProperties":false,"properties":{)"
          R"("path":{"enum":["agent.approval","a2a.introspection.enabled"]},"value":{}}})",
          result::admin_set},
    OpRow{Op::kDevicePending, "auth.device.pending", ReplyKind::kMessage, Reach::kOperator, Gate::kSignIn,
          "The sign-ins that wait for an approval, oldest first.", kNoArgs, result::device_pending},
    OpRow{
        Op::kDeviceApprove, "auth.device.approve", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
        "Lets a device in, as somebody; the scope may be narrowed.",
        R"({"type":"object","required":["user_code","as"],"additionalProperties":false,"properties":{)"
        R"("user_code":{"type":"string","minLength":1},"as":{"type":"string","pattern":"^[a-z0-9][a-z0-9._-]{0,63}$"},)"
        R"("scope":{"enum":["user","operator"]}}})",
        result::device_approve},
    OpRow{Op::kDeviceDeny, "auth.device.deny", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
          "Turns a device away, or all that wait.",
          R"({"type":"object","additionalProperties":false,"oneOf":[{"required":["user_code"]},{"required":["all"]}],)"
          R"("properties":{"user_code":{"type":"string","minLength":1},"all":{"const":true}}})",
          result::device_deny},
    OpRow{Op::kSessions, "auth.sessions", ReplyKind::kMessage, Reach::kOperator, Gate::kSignIn,
          "The sessions that are good now, oldest first.", kNoArgs, result::sessions},
    OpRow{Op::kSessionsRevoke, "auth.sessions.revoke", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
          "Ends sessions: one, those of a name, or all. Their streams end at once.",
          R"({"type":"object","additionalProperties":false,)"
          R"("oneOf":[{"required":["sid"]},{"required":["name"]},{"required":["all"]}],"properties":{)"
          R"("sid":{"type":"string","minLength":1},"name":{"type":"string","minLength":1},"all":{"const":true}}})",
          result::sessions_revoke},
};

std::string_view to_string(ReplyKind reply) { return reply == ReplyKind::kMessage ? "message" : "task"; }

// {"agentd": {"op": <name>, …args}}
Json envelope(const OpRow& row) {
  Json inner = Json::parse(row.args);
  Json required = Json::array({"op"});
  for (const Json& name : inner.value("required", Json::array())) required.push_back(name);
  inner["required"] = std::move(required);
  inner["properties"]["op"] = {{"const", row.name}};
  return {{"type", "object"},
          {"required", {"agentd"}},
          {"additionalProperties", false},
          {"properties", {{"agentd", inner}}}};
}

}  // namespace

std::span<const OpRow> ops() { return kOps; }

const OpRow* find_op(std::string_view name) {
  const auto at = std::ranges::find(kOps, name, &OpRow::name);
  return at == kOps.end() ? nullptr : &*at;
}

bool may_run(const access::Caller& caller, const OpRow& row) {
  if (caller.viewer.is_operator || row.reach == Reach::kAny) return true;
  if (row.reach == Reach::kOperator) return false;
  if (row.reach == Reach::kUser && caller.role == config::Role::kUser) return true;
  return row.reach == Reach::kUserAndAgent || access::is_granted(caller, row.name);
}

Json ops_json() {
  return ops_json({.viewer = {.is_operator = true, .principal = "operator"}}, {.sign_in = true, .introspection = true});
}

Json ops_json(const access::Caller& caller, Gates open) {
  Json out = Json::array();
  for (const OpRow& row : kOps) {
    const bool shut =
        (row.gate == Gate::kSignIn && !open.sign_in) || (row.gate == Gate::kIntrospection && !open.introspection);
    if (shut || !may_run(caller, row)) continue;
    out.push_back({{"op", row.name}, {"reply", to_string(row.reply)}});
  }
  return out;
}

Json settable_json(const access::Caller& caller) {
  const OpRow& row = *find_op("admin.set");
  return may_run(caller, row) ? Json::parse(row.args)["properties"]["path"]["enum"] : Json::array();
}

Json command_bundle() {
  Json envelopes = Json::object();
  Json described = Json::object();
  Json choices = Json::array();
  for (const OpRow& row : kOps) {
    const std::string name(row.name);
    envelopes[name] = envelope(row);
    described[name] = {{"reply", to_string(row.reply)},
                       {"description", row.description},
                       {"args", Json::parse(row.args)},
                       {"result", row.result()}};
    const Json is_it = {
        {"properties", {{"agentd", {{"required", {"op"}}, {"properties", {{"op", {{"const", name}}}}}}}}}};
    choices.push_back({{"if", is_it}, {"then", {{"$ref", "#/$defs/envelopes/$defs/" + name}}}});
  }
  const std::string uri(a2a::uri(a2a::Extension::kCommand));
  // An op that is not listed passes: workflows may declare their own.
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"$id", uri + "/schema.json"},
          {"title", "The data of a command part"},
          {"type", "object"},
          {"required", {"agentd"}},
          {"additionalProperties", false},
          {"properties",
           {{"agentd",
             {{"type", "object"},
              {"required", {"op"}},
              {"properties", {{"op", {{"type", "string"}, {"minLength", 1}}}}}}}}},
          {"allOf", choices},
          {"$defs", {{"envelopes", {{"$defs", envelopes}}}, {"ops", described}}}};
}

}  // namespace agentd::command
