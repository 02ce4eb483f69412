#include "workflow/keys.h"

#include <array>

#include "base/check.h"
#include "workflow/model.h"

namespace agentd::workflow {
namespace {

constexpr std::string_view kString = R"({"type": "string"})";
constexpr std::string_view kScalar = R"({"type": ["string", "number", "boolean"]})";

constexpr std::array kWorkflowKeys = {
    Key{"name", R"({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})", "What a run is asked for by."},
    Key{"description", kString, "What it does, for a person."},
    Key{"inputs", R"({"type": "object"})", "JSON Schema of a run's inputs."},
    Key{"start", R"({"type": "object", "minProperties": 1})", "What starts a run, beside workflow.run and the agent."},
    Key{"steps", R"({"type": "object", "minProperties": 1, "maxProperties": 256})", "The steps, by id."},
};

constexpr std::array kStartKeys = {
    Key{"a2a", R"({"type": "object"})", "An op of the command extension, whose arguments are the run's inputs."},
};

constexpr std::array kCommandKeys = {
    Key{"command", R"({"type": "string"})", "The op's name, such as report.weekly."},
    Key{"roles",
        R"({"type": "array", "minItems": 1, "items": {"enum": ["user", "agent", "operator"]},)"
        R"( "default": ["user", "agent"]})",
        "Who may run the op; an operator may in any case."},
    Key{"schema", R"({"type": "object"})", "JSON Schema of the op's arguments. Default: that of the inputs."},
};

constexpr std::array kStepKeys = {
    Key{"needs", R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true})",
        "Steps that come before this one."},
    Key{"when", kString, "A jq expression without ${{ }}: false or null skips the step."},
    Key{"allow_failure", R"({"type": "boolean", "default": false})",
        "Its failure fails neither the run nor the steps that need it."},
    Key{"exec", R"({"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}})",
        "A program and its arguments; no shell. Arguments are templates."},
    Key{"run", R"({"type": "string", "minLength": 1})",
        "A script for /bin/sh -eu. Not a template: values come in by env."},
    Key{"env", R"({"type": "object"})", "Environment variables. Values are templates."},
    Key{"cwd", kString, "The folder it runs in, a template. Default: the daemon's."},
    Key{"input", kString, "What it reads on stdin, a template."},
    Key{"output", R"({"enum": ["text", "json"], "default": "text"})",
        "How stdout becomes the step's output; text loses its trailing newlines."},
    Key{"output_cap", R"({"type": ["string", "integer"], "default": "1MiB"})",
        "How much of stdout is kept, up to 2MiB."},
    Key{"timeout", R"({"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "default": "10m"})",
        "How long one attempt may take."},
    Key{"retries", R"({"type": "integer", "minimum": 0, "maximum": 100, "default": 0})",
        "Further attempts after one that failed."},
    Key{"finish", R"({"type": "object"})", "Makes the run's output and artifact."},
};

constexpr std::array kFinishKeys = {
    Key{"output", R"({})", "The run's output: any value, its strings are templates."},
    Key{"artifact", R"({"type": "object"})", "A file that the run hands out."},
};

constexpr std::array kArtifactKeys = {
    Key{"name", R"({"type": "string", "minLength": 1})", "Such as report.md."},
    Key{"mediaType", R"({"type": "string", "default": "text/plain"})", "Such as text/markdown."},
    Key{"text", kString, "The content, a template."},
};

Json literal(std::string_view text) {
  auto value = parse_json(text);
  AGENTD_CHECK(value.has_value(), "a schema in the table of keys is not JSON");
  return std::move(*value);
}

Json object_schema(std::span<const Key> keys, Json required) {
  Json properties = Json::object();
  for (const Key& key : keys) {
    Json schema = literal(key.schema);
    schema["description"] = key.text;
    properties[std::string(key.name)] = std::move(schema);
  }
  Json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

}  // namespace

std::span<const Key> workflow_keys() { return kWorkflowKeys; }
std::span<const Key> start_keys() { return kStartKeys; }
std::span<const Key> command_keys() { return kCommandKeys; }
std::span<const Key> step_keys() { return kStepKeys; }
std::span<const Key> finish_keys() { return kFinishKeys; }
std::span<const Key> artifact_keys() { return kArtifactKeys; }

std::vector<std::string> names_of(std::span<const Key> keys) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.emplace_back(key.name);
  return names;
}

Json workflow_schema() {
  Json finish = object_schema(kFinishKeys, Json::array());
  finish["properties"]["artifact"].update(object_schema(kArtifactKeys, Json::array({"name", "text"})));
  Json step = object_schema(kStepKeys, Json::array());
  step["properties"]["finish"].update(finish);
  step["properties"]["env"]["additionalProperties"] = literal(kScalar);
  step["oneOf"] = literal(R"([{"required": ["exec"]}, {"required": ["run"]}, {"required": ["finish"]}])");

  Json command = object_schema(kCommandKeys, Json::array({"command"}));
  command["properties"]["command"].update({{"pattern", kOpPattern}, {"maxLength", kMaxOpBytes}});
  Json start = object_schema(kStartKeys, Json::array());
  start["properties"]["a2a"].update(command);

  Json out = object_schema(kWorkflowKeys, Json::array({"name", "steps"}));
  out["properties"]["start"].update(start);
  Json& steps = out["properties"]["steps"];
  steps["propertyNames"] = {{"pattern", kStepPattern}};
  steps["additionalProperties"] = std::move(step);
  Json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "A workflow of agentd"}};
  root.update(out);
  return root;
}

}  // namespace agentd::workflow
