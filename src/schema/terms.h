// The words that our own schemas are written in, so that they read like the tables of the specification:
//
//   closed({{"id", text()}, {"err", nullable_text()}, {"sid?", text()}})
//
// is an object with just these members, each required unless its name ends in '?'. Pure functions.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace agentd::schema::terms {

[[nodiscard]] inline Json any() { return Json::object(); }
[[nodiscard]] inline Json of_type(std::string_view type) { return {{"type", type}}; }
[[nodiscard]] inline Json text() { return of_type("string"); }
[[nodiscard]] inline Json flag() { return of_type("boolean"); }
[[nodiscard]] inline Json object() { return of_type("object"); }  // with any members
[[nodiscard]] inline Json count() { return {{"type", "integer"}, {"minimum", 0}}; }
[[nodiscard]] inline Json nullable(std::string_view type) {
  return {{"type", Json::array({std::string(type), "null"})}};
}
[[nodiscard]] inline Json nullable_text() { return nullable("string"); }
[[nodiscard]] inline Json nullable_count() {
  Json out = nullable("integer");
  out["minimum"] = 0;
  return out;
}
[[nodiscard]] inline Json exactly(Json value) { return {{"const", std::move(value)}}; }
[[nodiscard]] inline Json word_of(std::initializer_list<std::string_view> words) {
  Json out = {{"enum", Json::array()}};
  for (const std::string_view word : words) out["enum"].push_back(word);
  return out;
}
[[nodiscard]] inline Json list(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }
[[nodiscard]] inline Json one_of(std::initializer_list<Json> forms) {
  Json out = {{"oneOf", Json::array()}};
  for (const Json& form : forms) out["oneOf"].push_back(form);
  return out;
}

[[nodiscard]] inline Json closed(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json out = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (auto [name, schema] : members) {
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    out["properties"][std::string(name)] = schema;
    if (!optional) out["required"].push_back(name);
  }
  if (out["required"].empty()) out.erase("required");
  out["additionalProperties"] = false;
  return out;
}

}  // namespace agentd::schema::terms
