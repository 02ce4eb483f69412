#include "command/ops.h"

#include <algorithm>
#include <array>
#include <string>

#include "a2a/extensions.h"

namespace agentd::command {
namespace {

constexpr std::array kOps = {
    OpRow{
        Op::kStatus, "status", ReplyKind::kMessage, Reach::kAny, Gate::kNone,
        "The whole instance as the caller may see it, with the feed position it was read at.",
        R"({"type":"object","additionalProperties":false})",
        R"({"type":"object","required":["instance","uptime_ms","draining","model","version","workflows","runs","conversations","activity"]})"},
    OpRow{Op::kConfig, "config", ReplyKind::kMessage, Reach::kOperator, Gate::kNone,
          "The configuration that holds now, secrets as ***.", R"({"type":"object","additionalProperties":false})",
          R"({"type":"object","required":["config"],"properties":{"config":{"type":"object"}}})"},
    OpRow{Op::kWorkflowRun, "workflow.run", ReplyKind::kTask, Reach::kUserAndAgent, Gate::kNone,
          "Runs a workflow; the task is linked to the run and ends with its output.",
          R"({"type":"object","required":["workflow"],"additionalProperties":false,"properties":{)"
          R"("workflow":{"type":"string","minLength":1},"inputs":{"type":"object"}}})",
          "true"},
    OpRow{Op::kAdminSet, "admin.set", ReplyKind::kTask, Reach::kOperator, Gate::kNone,
          "Moves a setting until the next reload.",
          R"({"type":"object","required":["path","value"],"additionalProperties":false,"properties":{)"
          R"("path":{"enum":["a2a.introspection.enabled"]},"value":{}}})",
          R"({"type":"object","required":["path","value"],"properties":{"path":{"type":"string"}}})"},
    OpRow{Op::kDevicePending, "auth.device.pending", ReplyKind::kMessage, Reach::kOperator, Gate::kSignIn,
          "The sign-ins that wait for an approval, oldest first.", R"({"type":"object","additionalProperties":false})",
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
          "The sessions that are good now, oldest first.", R"({"type":"object","additionalProperties":false})",
          R"({"type":"object","required":["sessions"],"properties":{"sessions":{"type":"array"}}})"},
    OpRow{Op::kSessionsRevoke, "auth.sessions.revoke", ReplyKind::kTask, Reach::kOperator, Gate::kSignIn,
          "Ends sessions: one, those of a name, or all. Their streams end at once.",
          R"({"type":"object","additionalProperties":false,)"
          R"("oneOf":[{"required":["sid"]},{"required":["name"]},{"required":["all"]}],"properties":{)"
          R"("sid":{"type":"string","minLength":1},"name":{"type":"string","minLength":1},"all":{"const":true}}})",
          R"({"type":"object","required":["revoked"],"properties":{"revoked":{"type":"integer"}}})"},
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
  return caller.viewer.is_operator || row.reach != Reach::kOperator;
}

Json ops_json() { return ops_json({.viewer = {.is_operator = true, .principal = "operator"}}, true); }

Json ops_json(const access::Caller& caller, bool sign_in) {
  Json out = Json::array();
  for (const OpRow& row : kOps) {
    if (!may_run(caller, row) || (row.gate == Gate::kSignIn && !sign_in)) continue;
    out.push_back({{"op", row.name}, {"reply", to_string(row.reply)}});
  }
  return out;
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
                       {"result", Json::parse(row.result)}};
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
