#include "runtime/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "runtime/message_text.h"
#include "schema/validator.h"

namespace agentd::runtime {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"question", "approval", "elicitation", kSignInKind};
constexpr std::array<std::string_view, 6> kYes = {"approve", "approved", "yes", "y", "ok", "allow"};
constexpr std::array<std::string_view, 6> kNo = {"deny", "denied", "no", "n", "refuse", "reject"};

// What was said, and where.
struct Said {
  Json value;
  std::string path;
};

std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

Json approval_of(const std::string& text) {
  const std::string word = plain(text);
  if (std::ranges::find(kYes, word) != kYes.end()) return {{"decision", "approve"}};
  if (std::ranges::find(kNo, word) != kNo.end()) return {{"decision", "deny"}};
  return text;
}

// A text as the only member that the schema's object has, or as the JSON that it is; else as it is.
Json fitted(const std::string& text, const Json& schema) {
  if (schema.value("type", Json()) == "string") return text;
  const Json properties = schema.value("properties", Json::object());
  if (properties.is_object() && properties.size() == 1 && properties.begin().value().is_object() &&
      properties.begin().value().value("type", Json()) == "string") {
    return {{properties.begin().key(), text}};
  }
  if (auto parsed = parse_json(text)) return *std::move(parsed);
  return text;
}

// What a tool asks may have defaults: they stand for what is left out.
void add_defaults(Json& answer, const Json& schema) {
  if (!answer.is_object() || !schema.is_object()) return;
  const Json properties = schema.value("properties", Json());
  if (!properties.is_object()) return;
  for (const auto& [name, property] : properties.items()) {
    if (property.is_object() && property.contains("default") && !answer.contains(name))
      answer[name] = property["default"];
  }
}

Said said_in(const Gate& gate, const Json& message) {
  const Json& parts = message["parts"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].contains("data")) return {parts[i]["data"], fmt::format("message.parts[{}].data", i)};
  }
  const std::string text = text_of(message);
  const std::string path = parts.size() == 1 ? "message.parts[0].text" : "message.parts";
  if (gate.is_approval()) return {approval_of(text), path};
  return {gate.schema.is_object() ? fitted(text, gate.schema) : Json(text), path};
}

}  // namespace

std::string_view to_string(Gate::Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

bool Gate::is_approval() const { return kind == Kind::kApproval || schema == approval_schema(); }

Json to_json(const Gate& gate) {
  return {{"id", gate.id},     {"kind", to_string(gate.kind)}, {"question", gate.question}, {"schema", gate.schema},
          {"call", gate.call}, {"deadline", gate.deadline_ms}, {"by", gate.answered_by},    {"at", gate.answered_ms}};
}

Gate gate_from_json(const Json& json) {
  const auto kind = std::ranges::find(kKinds, json.at("kind").get<std::string>());
  return {.id = json.at("id"),
          .kind = kind == kKinds.end() ? Gate::Kind::kQuestion : static_cast<Gate::Kind>(kind - kKinds.begin()),
          .question = json.at("question"),
          .schema = json.at("schema"),
          .call = json.at("call"),
          .deadline_ms = json.at("deadline"),
          .answered_by = json.at("by"),
          .answered_ms = json.at("at")};
}

Json approval_schema() {
  return Json::parse(R"({
    "type": "object",
    "properties": {
      "decision": {"enum": ["approve", "deny"], "description": "Whether the tool may be used."},
      "reason": {"type": "string", "maxLength": 2000, "description": "Told to the agent."}
    },
    "required": ["decision"],
    "additionalProperties": false
  })");
}

Result<Json> read_answer(const Gate& gate, const Json& message) {
  Said said = said_in(gate, message);
  if (gate.kind == Gate::Kind::kElicitation) add_defaults(said.value, gate.schema);
  if (gate.schema.is_null()) return std::move(said.value);
  const auto schema = schema::compile(gate.schema);
  if (!schema) return std::move(said.value);  // it was compiled when the gate was opened
  auto violations = schema->validate(said.value, said.path);
  if (violations.empty()) return std::move(said.value);
  return std::unexpected(Error{.code = Code::kInvalidParams,
                               .message = fmt::format("the answer does not fit the question: {} {}",
                                                      violations.front().field, violations.front().description),
                               .violations = std::move(violations)});
}

}  // namespace agentd::runtime
