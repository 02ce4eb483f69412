#include "command/ops.h"

#include <algorithm>
#include <array>
#include <string>

#include "a2a/extensions.h"
#include "feed/kind_schemas.h"

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
    OpRow{
        Op::kStatus, "status", ReplyKind::kMessage, Reach::kAny, Gate::kNone,
        "The whole instance as the caller may see it, with the feed position it was read at.", kNoArgs,
        R"({"type":"object","required":["instance","uptime_ms","draining","paused","model","version","workflows","runs","conversations","activity"]})"},
    OpRow{Op::kConfig, "config", ReplyKind::kMessage, Reach::kOperator, Gate::kNone,
          "The configuration that holds now, secrets as ***.", kNoArgs,
          R"({"type":"object","required":["config"],"properties":{"config":{"type":"object"}}})"},
    OpRow{Op::kWorkflowRun, "workflow.run", ReplyKind::kTask, Reach::kUserAndAgent, Gate::kNone,
          "Runs a workflow; the task is linked to the run and ends with its output.",
          R"({"type":"object","required":["workflow"],"additionalProperties":false,"properties":{)"
          R"("workflow":{"type":"string","minLength":1},"inputs":{"type":"object"}}})",
          "true"},
    OpRow{Op::kWorkflowStatus, "workflow.status", ReplyKind::kMessage, Reach::kUserAndAgent, Gate::kNone,
          "One run, or the newest 500 that the caller may see.", kRunOrAll,
          R"({"type":"object","required":["runs"],"properties":{"runs":{"type":"array","items":{"type":"object",)"
          R"("required":["run","workflow","status","output","error"]}}}})"},
    OpRow{Op::kWorkflowCancel, "workflow.cancel", ReplyKind::kTask, Reach::kUser, Gate::kNone,
          "Ends a run of the caller's, its processes too.", kRun, "false"},
    OpRow{
        Op::kWorkflowSignal, "workflow.signal", ReplyKind::kTask, Reach::kGrant, Gate::kNone,
        "Tells runs of the sender's that wait for a signal; how many heard it.",
        R"({"type":"object","required":["name"],"additionalProperties":false,"properties":{)"
        R"("name":{"type":"string","minLength":1},"payload":true,"run":{"type":"string","minLength":1}}})",
        R"({"type":"object","required":["signal","delivered"],"properties":{"delivered":{"type":"integer","minimum":0}}})"},
    OpRow{Op::kSubagentSend, "subagent.send", ReplyKind::kTask, Reach::kUser, Gate::kNone,
          "One more message for a subagent.",
          R"({"type":"object","required":["handle","message"],"additionalProperties":false,"properties":{)"
          R"("handle":{"type":"string","minLength":1},"message":{"type":"string","minLength":1}}})",
          R"({"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}})"},
    OpRow{Op::kSubagentKill, "subagent.kill", ReplyKind::kTask, Reach::kGrant, Gate::kNone, "Ends a subagent at once.",
          R"({"type":"object","required":["handle"],"additionalProperties":false,"properties":{)"
          R"("handle":{"type":"string","minLength":1},"reason":{"type":"string"}}})",
          R"({"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}})"},
    OpRow{Op::kSubagentStatus, "subagent.status", ReplyKind::kMessage, Reach::kUser, Gate::kNone,
          "How far a subagent is.", kHandle,
          R"({"type":"object","required":["handle","status"],"properties":{"status":{"type":"string"}}})"},
    OpRow{Op::kPlanGet, "plan.get", ReplyKind::kMessage, Reach::kUser, Gate::kNone,
          "The plan of a conversation; without an id, of root.",
          R"({"type":"object","additionalProperties":false,"properties":{"id":{"type":"string","minLength":1}}})",
          R"({"type":"object","required":["conversation","plan","progress"]})"},
    OpRow{
        Op::kConversationGet, "conversation.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
        "A conversation and its newest messages, 200 without a limit; texts cut at 4,096 bytes.",
        R"({"type":"object","required":["id"],"additionalProperties":false,"properties":{)"
        R"("id":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":1000}}})",
        R"({"type":"object","required":["conversation"],"properties":{"conversation":{"type":"object","required":)"
        R"(["id","kind","version","turns","est_tokens","principal","task","skills","plan","summary","total_messages",)"
        R"("messages","updated"]}}})"},
    OpRow{
        Op::kRunGet, "run.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
        "A run with each of its steps; outputs cut at 2,048 bytes.", kRun,
        R"({"type":"object","required":["run"],"properties":{"run":{"type":"object","required":["id","workflow","status","steps","vars"]}}})"},
    OpRow{Op::kSubagentGet, "subagent.get", ReplyKind::kMessage, Reach::kUser, Gate::kIntrospection,
          "All that is known of a subagent.", kHandle,
          R"({"type":"object","required":["subagent"],"properties":{"subagent":{"type":"object"}}})"},
    OpRow{Op::kDebugEvents, "debug.events", ReplyKind::kMessage, Reach::kOperator, Gate::kIntrospection,
          "Lines of the log past a number, oldest first; 200 without a limit.",
          R"({"type":"object","additionalProperties":false,"properties":{"after":{"type":"integer","minimum":0},)"
          R"("limit":{"type":"integer","minimum":1,"maximum":500},"level":{"enum":["debug","info","warn","error"]},)"
          R"("prefix":{"type":"string"}}})",
          R"({"type":"object","required":["events","newest_seq","oldest_seq","dropped"]})"},
    OpRow{
        Op::kAdminDrain, "admin.drain", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
        "Takes no more work, lets what is at work end, and stops the daemon.",
        R"({"type":"object","additionalProperties":false,"properties":{"reason":{"type":"string","maxLength":1024}}})",
        R"({"type":"object","required":["ok","state","reason"],"properties":{"state":{"const":"draining"}}})"},
    OpRow{
        Op::kAdminPause, "admin.pause", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
        "Holds back what has not started yet: of a run, or everywhere.",
        R"({"type":"object","additionalProperties":false,"properties":{"run":{"type":"string","minLength":1},)"
        R"("reason":{"type":"string","maxLength":1024}}})",
        R"({"type":"object","required":["ok"],"properties":{"paused":{"type":"string"},"state":{"const":"paused"}}})"},
    OpRow{
        Op::kAdminResume, "admin.resume", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
        "Goes on with a run, or everywhere.", kRunOrAll,
        R"({"type":"object","required":["ok"],"properties":{"resumed":{"type":"string"},"state":{"const":"running"}}})"},
    OpRow{Op::kAdminCancel, "admin.cancel", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Ends a run, whoever's it is.",
          R"({"type":"object","required":["run"],"additionalProperties":false,"properties":{)"
          R"("run":{"type":"string","minLength":1},"reason":{"type":"string","maxLength":1024}}})",
          R"({"type":"object","required":["ok","cancelled"],"properties":{"cancelled":{"type":"string"}}})"},
    OpRow{Op::kAdminSet, "admin.set", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Moves a setting until the next reload.",
          R"({"type":"object","required":["path","value"],"additionalProperties":false,"properties":{)"
          R"("path":{"enum":["a2a.introspection.enabled"]},"value":{}}})",
          R"({"type":"object","required":["path","value"],"properties":{"path":{"type":"string"}}})"},
    OpRow{Op::kDevicePending, "auth.device.pending", ReplyKind::kMessage, Reach::kOperator, Gate::kSignIn,
          "The sign-ins that wait for an approval, oldest first.", kNoArgs,
          R"({"type":"object","required":["pending"],"properties":{"pending":{"type":"array"}}})"},
    OpRow{
        Op::kDeviceApprove, "auth.device.approve", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
        "Lets a device in, as somebody; the scope may be narrowed.",
        R"({"type":"object","required":["user_code","as"],"additionalProperties":false,"properties":{)"
        R"("user_code":{"type":"string","minLength":1},"as":{"type":"string","pattern":"^[a-z0-9][a-z0-9._-]{0,63}$"},)"
        R"("scope":{"enum":["user","operator"]}}})",
        R"({"type":"object","required":["approved"],"properties":{"approved":{"type":"object"}}})"},
    OpRow{Op::kDeviceDeny, "auth.device.deny", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
          "Turns a device away, or all that wait.",
          R"({"type":"object","additionalProperties":false,"oneOf":[{"required":["user_code"]},{"required":["all"]}],)"
          R"("properties":{"user_code":{"type":"string","minLength":1},"all":{"const":true}}})",
          R"({"type":"object","required":["denied"],"properties":{"denied":{"type":"integer"}}})"},
    OpRow{Op::kSessions, "auth.sessions", ReplyKind::kMessage, Reach::kOperator, Gate::kSignIn,
          "The sessions that are good now, oldest first.", kNoArgs,
          R"({"type":"object","required":["sessions"],"properties":{"sessions":{"type":"array","items":{)"
          R"("type":"object","required":["sid","kind"],"properties":{"kind":{"enum":["device","launch"]}}}}}})"},
    OpRow{Op::kSessionsRevoke, "auth.sessions.revoke", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
          "Ends sessions: one, those of a name, or all. Their streams end at once.",
          R"({"type":"object","additionalProperties":false,)"
          R"("oneOf":[{"required":["sid"]},{"required":["name"]},{"required":["all"]}],"properties":{)"
          R"("sid":{"type":"string","minLength":1},"name":{"type":"string","minLength":1},"all":{"const":true}}})",
          R"({"type":"object","required":["revoked"],"properties":{"revoked":{"type":"integer"}}})"},
};

// `status` holds what the feed holds, in its shapes.
Json result_of(const OpRow& row) {
  Json result = Json::parse(row.result);
  if (row.op != Op::kStatus) return result;
  const auto list_of = [](Json schema) { return Json{{"type", "array"}, {"items", std::move(schema)}}; };
  result["properties"] = {
      {"runs", list_of(feed::run_schema())},          {"conversations", list_of(feed::conversation_schema())},
      {"activity", list_of(feed::activity_schema())}, {"subagents", list_of(feed::subagent_schema())},
      {"children", list_of(feed::child_schema())},    {"seq", {{"type", "integer"}, {"minimum", 0}}}};
  return result;
}

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
                       {"result", result_of(row)}};
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
