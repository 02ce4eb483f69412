#include "a2a/card.h"

#include <fmt/format.h>

namespace agentd::a2a {
namespace {

Json extension_params(Extension extension, const CardFacts& facts, const CallerFacts* caller) {
  const std::string schema = fmt::format("{}/schema.json", uri(extension));
  switch (extension) {
    case Extension::kCommand: {
      Json params = {
          {"dataPartKey", "agentd"}, {"schema", schema}, {"ops", caller != nullptr ? caller->ops : facts.ops}};
      if (caller != nullptr && !caller->commands.empty()) params["commands"] = caller->commands;
      if (caller != nullptr && !caller->settable.empty()) params["settable"] = caller->settable;
      return params;
    }
    case Extension::kEvents: {
      Json params = {{"method", "agentd.events/SubscribeToEvents"}, {"schema", schema}};
      if (caller != nullptr) {
        params["ring"] = caller->ring;
        params["kinds"] = caller->kinds;
      }
      return params;
    }
    case Extension::kTaskAnnotations: return {{"schema", schema}};
  }
  return Json::object();
}

std::string_view description(Extension extension) {
  switch (extension) {
    case Extension::kCommand: return "Structured operations sent as one data part of a message.";
    case Extension::kEvents: return "One live, resumable feed of everything in the instance that the caller may see.";
    case Extension::kTaskAnnotations: return "What does the work of a task, its owner and its past states.";
  }
  return "";
}

Json capabilities(const CardFacts& facts, const CallerFacts* caller) {
  Json extensions = Json::array();
  for (const Extension extension : kExtensions) {
    if (!facts.declared.has(extension)) continue;
    extensions.push_back({{"uri", uri(extension)},
                          {"description", description(extension)},
                          {"required", kRequired.has(extension)},
                          {"params", extension_params(extension, facts, caller)}});
  }
  return {{"streaming", true}, {"pushNotifications", false}, {"extensions", extensions}, {"extendedAgentCard", true}};
}

Json card(const CardFacts& facts, const CallerFacts* caller) {
  Json skills = Json::array();
  for (const Skill& skill : facts.skills) {
    skills.push_back(
        {{"id", skill.id}, {"name", skill.name}, {"description", skill.description}, {"tags", {"agentd"}}});
  }
  Json out = {
      {"name", facts.name},
      {"description", facts.description},
      {"supportedInterfaces", {{{"url", facts.url}, {"protocolBinding", "JSONRPC"}, {"protocolVersion", "1.0"}}}},
      {"version", facts.version},
      {"capabilities", capabilities(facts, caller)},
      {"defaultInputModes", {"text/plain", "application/json"}},
      {"defaultOutputModes", {"text/plain", "text/markdown", "application/json"}},
      {"skills", skills},
  };
  if (facts.bearer) {
    out["securitySchemes"] = {{"bearer", {{"httpAuthSecurityScheme", {{"scheme", "Bearer"}}}}}};
    out["securityRequirements"] = Json::array({Json{{"schemes", {{"bearer", {{"list", Json::array()}}}}}}});
  }
  return out;
}

}  // namespace

Json public_card(const CardFacts& facts) { return card(facts, nullptr); }

Json extended_card(const CardFacts& facts, const CallerFacts& caller) { return card(facts, &caller); }

}  // namespace agentd::a2a
