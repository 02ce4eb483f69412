// config_schema(): the table as JSON Schema, for editors.
#include "base/check.h"
#include "base/plain_scalar.h"
#include "config/table.h"

namespace agentd::config {
namespace {

constexpr const char* kNamePattern = "^[a-z0-9_-]{1,32}$";
constexpr const char* kBasePattern = "^https?://[^/?#@\\s]+(/[^?#\\s]*)?$";
constexpr const char* kDialect = "https://json-schema.org/draft/2020-12/schema";

Json closed(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

// {<name>: a string}, and nothing else.
Json reference(const char* name) {
  Json out = closed({{name, {{"type", "string"}, {"minLength", 1}}}});
  out["required"] = Json::array({name});
  return out;
}

Json choices_of(const Row& row) {
  Json out = Json::array();
  for (const std::string_view choice : row.choices) out.push_back(choice);
  return out;
}

Json string_schema(const Row& row) {
  // Length is counted in bytes when a file is read, and in characters here: never the stricter of the two.
  return {{"type", "string"}, {"minLength", row.bounds.low == 0 ? 0 : 1}, {"maxLength", row.bounds.high}};
}

// A list of the row's bounds, where it has any.
Json items_schema(const Row& row, Json item) {
  Json out = {{"type", "array"}, {"items", std::move(item)}};
  if (row.bounds.high == 0) return out;
  out["minItems"] = row.bounds.low;
  out["maxItems"] = row.bounds.high;
  return out;
}

Json list_or_one(const Row& row, const char* pattern) {
  const Json address = {{"type", "string"}, {"pattern", pattern}};
  return {{"anyOf",
           {address,
            {{"type", "array"}, {"items", address}, {"minItems", row.bounds.low}, {"maxItems", row.bounds.high}}}}};
}

Json node_of(const Row& row);

Json section_schema(const Row& row) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Row* member : members_of(row)) {
    properties[std::string(name_of(*member))] = node_of(*member);
    if (member->flag == Flag::kRequired) required.push_back(name_of(*member));
  }
  Json out = closed(std::move(properties));
  if (!required.empty()) out["required"] = std::move(required);
  if (row.bounds.high != 0) {
    out["minProperties"] = row.bounds.low;
    out["maxProperties"] = row.bounds.high;
  }
  return out;
}

Json type_schema(const Row& row) {
  switch (row.type) {
    case Type::kSection: return section_schema(row);
    case Type::kItems: return items_schema(row, node_of(item_of(row)));
    case Type::kEndpoints: {
      // An object's keywords say nothing of a string, and the other way round.
      Json item = node_of(item_of(row));
      item["type"] = {"object", "string"};
      item["pattern"] = kBasePattern;
      return items_schema(row, std::move(item));
    }
    case Type::kNamed:
      return {{"type", "object"},
              {"additionalProperties", node_of(item_of(row))},
              {"propertyNames", {{"pattern", kNamePattern}}},
              {"maxProperties", row.bounds.high}};
    case Type::kVariables:
    case Type::kHeaders:
      return {{"type", "object"},
              {"additionalProperties", {{"anyOf", {{{"type", "string"}}, reference("env"), reference("file")}}}},
              {"maxProperties", row.bounds.high}};
    case Type::kWorkflows:
      return {{"type", "array"}, {"items", {{"anyOf", {{{"type", "string"}}, {{"type", "object"}}}}}}};
    case Type::kProgram:
    case Type::kString: return string_schema(row);
    case Type::kName: return {{"type", "string"}, {"pattern", kNamePattern}};
    case Type::kText: return {{"anyOf", {string_schema(row), reference("file")}}};
    case Type::kPath: return {{"type", "string"}};
    case Type::kPaths: return items_schema(row, {{"type", "string"}, {"minLength", 1}});
    case Type::kBase:
    case Type::kEndpoint: return {{"type", "string"}, {"pattern", kBasePattern}};
    case Type::kWeb: return {{"type", "string"}, {"pattern", "^https?://[^/?#@\\s]+([/?][^#\\s]*)?$"}};
    case Type::kArguments: return items_schema(row, {{"type", "string"}});
    case Type::kUrl: return {{"type", "string"}, {"pattern", "^(https?://[^/?#@]+/?)?$"}};
    case Type::kListen: return list_or_one(row, "^(https?://|unix:///)");
    case Type::kOrigins: return list_or_one(row, "^https?://[^/?#@*A-Z]+/?$");
    case Type::kList:
      return items_schema(
          row, row.choices.empty() ? Json{{"type", "string"}, {"minLength", 1}} : Json{{"enum", choices_of(row)}});
    case Type::kChoice: return {{"enum", choices_of(row)}};
    case Type::kBoolean: return {{"type", "boolean"}};
    case Type::kTrue: return {{"const", true}};
    case Type::kInteger: return {{"type", "integer"}, {"minimum", row.bounds.low}, {"maximum", row.bounds.high}};
    case Type::kNumber: return {{"type", "number"}, {"minimum", row.bounds.low}, {"maximum", row.bounds.high}};
    case Type::kSize:
      return {{"type", {"string", "integer"}},
              {"pattern", "^[0-9]+(KiB|MiB|GiB)?$"},
              {"minimum", row.bounds.low},
              {"maximum", row.bounds.high}};
    case Type::kDuration: return {{"type", "string"}, {"pattern", "^[0-9]+(ms|s|m|h|d)$"}};
    case Type::kRate: return {{"type", "string"}, {"pattern", "^[0-9]+/[0-9]+(ms|s|m|h|d)$"}};
    case Type::kSecret: return {{"anyOf", {reference("env"), reference("file")}}};
  }
  AGENTD_CHECK(false, "every type has a schema");
}

Json node_of(const Row& row) {
  Json out = {{"description", std::string(row.description) + (row.flag == Flag::kRestart ? " Restart only." : "")}};
  out.update(type_schema(row));
  if (!row.fallback.empty()) out["default"] = plain_scalar(row.fallback).value_or(Json());
  return out;
}

}  // namespace

Json config_schema() {
  Json out = {{"$schema", kDialect}, {"title", "agentd configuration"}};
  out.update(node_of(*find_row("")));
  return out;
}

}  // namespace agentd::config
