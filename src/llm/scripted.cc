#include "llm/scripted.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "llm/fill.h"
#include "llm/rules.h"

namespace agentd::llm {
namespace {

constexpr std::string_view kEcho = "You said: ${text}";
constexpr std::string_view kHint =
    "(This agent has no model yet: a script answers. Write its rules into a file and name it in the "
    "configuration as "
    "agent.model: {provider: scripted, script: rules.yaml}; docs/scripted-model.md shows how.)";

Rule echo() {
  Rule rule;
  rule.reply.actions = {Text{std::string(kEcho)}, Text{std::string(kHint)}};
  return rule;
}

// The values for a reply, when `rule` is for this turn.
std::optional<Values> match(const Rule& rule, const TurnInput& input) {
  if (rule.turn && *rule.turn != input.turn) return std::nullopt;
  if (!input.message_id.starts_with(rule.message_id_prefix)) return std::nullopt;
  Values values{.text = input.text, .groups = {}};
  if (!rule.text) return values;
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(rule.text->NumberOfCapturingGroups()) + 1);
  if (!rule.text->Match(input.text, 0, input.text.size(), RE2::UNANCHORED, groups.data(),
                        static_cast<int>(groups.size()))) {
    return std::nullopt;
  }
  for (const re2::StringPiece& group : groups) values.groups.emplace_back(group.data(), group.size());
  return values;
}

}  // namespace

ScriptedModel::ScriptedModel(std::vector<Rule> rules, Json source)
    : rules_(std::make_shared<const std::vector<Rule>>(std::move(rules))), source_(std::move(source)) {}

std::expected<ScriptedModel, std::vector<Fault>> ScriptedModel::load(const std::string& path) {
  const auto document = read_document(path);
  if (!document) return std::unexpected(document.error());
  return parse(*document);
}

std::expected<ScriptedModel, std::vector<Fault>> ScriptedModel::parse(const Document& document) {
  auto rules = read_rules(document);
  if (!rules) return std::unexpected(std::move(rules.error()));
  rules->push_back(echo());
  return ScriptedModel(std::move(*rules), document.value);
}

ScriptedModel ScriptedModel::built_in() { return ScriptedModel({echo()}, nullptr); }

Script ScriptedModel::answer(const TurnInput& input) const {
  for (const Rule& rule : *rules_) {
    const auto values = match(rule, input);
    if (!values) continue;
    Script script{.actions = {}, .direct_message = rule.reply.direct_message};
    script.actions.reserve(rule.reply.actions.size());
    for (const Action& action : rule.reply.actions) script.actions.push_back(fill(action, *values));
    return script;
  }
  AGENTD_CHECK(false, "the last rule has no conditions");
  std::unreachable();
}

}  // namespace agentd::llm
