#include "command/ops.h"

#include <algorithm>
#include <string>

#include "a2a/extensions.h"

namespace agentd::command {
namespace {

constexpr std::array kOps = {
    OpRow{
        Op::kStatus, "status", ReplyKind::kMessage,
        "The whole instance as the caller may see it, with the feed position it was read at.",
        R"({"type":"object","additionalProperties":false})",
        R"({"type":"object","required":["instance","uptime_ms","draining","model","version","workflows","runs","conversations","activity"]})"},
    OpRow{Op::kWorkflowRun, "workflow.run", ReplyKind::kTask,
          "Runs a workflow; the task is linked to the run and ends with its output.",
          R"({"type":"object","required":["workflow"],"additionalProperties":false,"properties":{)"
          R"("workflow":{"type":"string","minLength":1},"inputs":{"type":"object"}}})",
          "true"},
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

const std::array<OpRow, 2>& ops() { return kOps; }

const OpRow* find_op(std::string_view name) {
  const auto at = std::ranges::find(kOps, name, &OpRow::name);
  return at == kOps.end() ? nullptr : &*at;
}

Json ops_json() {
  Json out = Json::array();
  for (const OpRow& row : kOps) out.push_back({{"op", row.name}, {"reply", to_string(row.reply)}});
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
