#include "schema/lower.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>

namespace agentd::schema {
namespace {

using Plain = nlohmann::json;

constexpr std::size_t kMaxRefs = 256;         // distinct targets
constexpr std::size_t kMaxInPlaceDepth = 64;  // of allOf, $ref, ... on the same value

// Each would narrow what is allowed, and valijson would not notice.
constexpr std::array<std::string_view, 12> kRefused = {"prefixItems",       "unevaluatedItems", "unevaluatedProperties",
                                                       "dependentRequired", "dependentSchemas", "$dynamicRef",
                                                       "$dynamicAnchor",    "$recursiveRef",    "$recursiveAnchor",
                                                       "minContains",       "maxContains",      "patternProperties"};
// Handed to valijson as they are. A keyword in none of these lists is an annotation, and is left out.
constexpr std::array<std::string_view, 8> kKeptNumbers = {"minimum",          "maximum",      "exclusiveMinimum",
                                                          "exclusiveMaximum", "minItems",     "maxItems",
                                                          "minProperties",    "maxProperties"};
constexpr std::array<std::string_view, 4> kInPlaceOne = {"not", "if", "then", "else"};
constexpr std::array<std::string_view, 3> kInPlaceMany = {"allOf", "anyOf", "oneOf"};
constexpr std::array<std::string_view, 4> kChildOne = {"items", "additionalItems", "contains", "additionalProperties"};
constexpr std::array<std::string_view, 3> kChildMap = {"properties", "$defs", "definitions"};
constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};

bool is_in(std::string_view word, std::span<const std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

class Lowering {
 public:
  Result<Lowered> run(const Json& schema) {
    out_.document = subschema(schema, "");
    std::set<std::string_view> targets;
    for (const auto& [from, target] : refs_) {
      if (!edges_.contains(target)) refuse(from, fmt::format("$ref to '#{}', where no schema is", target));
      targets.insert(target);
    }
    if (targets.size() > kMaxRefs) refuse("", fmt::format("$ref to more than {} places", kMaxRefs));
    if (!error_.has_value()) {
      for (const auto& [pointer, unused] : edges_) in_place_depth(pointer);
    }
    if (error_.has_value()) return std::unexpected(*error_);
    return std::move(out_);
  }

 private:
  // The first fault stays; lowering goes on harmlessly.
  void refuse(std::string_view pointer, std::string_view why) {
    if (error_.has_value()) return;
    error_ = Error{.code = Code::kInvalidParams, .message = fmt::format("schema at '#{}': {}", pointer, why)};
  }

  Plain subschema(const Json& node, const std::string& at) {
    edges_[at];
    if (node.is_boolean()) return node.get<bool>();
    if (!node.is_object()) {
      refuse(at, "must be an object or a boolean");
      return true;
    }
    Plain out = Plain::object();
    Plain extra = Plain::array();  // to be met in addition: becomes the end of allOf
    for (const auto& [key, value] : node.items()) {
      if (is_in(key, kRefused)) {
        refuse(at, fmt::format("'{}' is not supported", key));
      } else if (key == "$id" && !at.empty()) {
        refuse(at, "'$id' is supported at the root only");
      } else if (key == "$ref") {
        extra.push_back({{"$ref", reference(value, at)}});
      } else if (key == "propertyNames") {
        // In a subschema of its own: valijson takes it for its parent when a $ref leads here.
        extra.push_back({{key, subschema(value, at + "/propertyNames")}});
      } else {
        applicator(key, value, at, out);
      }
    }
    assertion(node, at, out);
    for (Plain& more : extra) out["allOf"].push_back(std::move(more));
    return out;
  }

  // The keywords that hold schemas, and those that valijson gets as they are.
  void applicator(const std::string& key, const Json& value, const std::string& at, Plain& out) {
    const std::string here = at + "/" + key;
    if (key == "dependencies") {
      out[key] = dependencies(value, at);
    } else if (key == "multipleOf") {
      if (!value.is_number() || value.get<double>() <= 0) return refuse(at, "'multipleOf' must be above 0");
      out[key] = value.get<double>();  // as a double: valijson cuts the value to an integer otherwise
    } else if (is_in(key, kKeptNumbers)) {
      if (!value.is_number()) return refuse(at, fmt::format("'{}' must be a number", key));
      out[key] = to_plain(value);
    } else if (key == "required" || key == "uniqueItems") {
      out[key] = to_plain(value);
    } else if (is_in(key, kInPlaceOne)) {
      edges_[at].push_back(here);
      out[key] = subschema(value, here);
    } else if (is_in(key, kInPlaceMany) || (key == "items" && value.is_array())) {
      out[key] = schema_list(value, here);
      if (key != "items") {
        for (std::size_t i = 0; i < out[key].size(); ++i) edges_[at].push_back(fmt::format("{}/{}", here, i));
      }
    } else if (is_in(key, kChildOne)) {
      // A false one is told by the assertion, which names every unwanted member.
      if (key == "additionalProperties" && value == Json(false)) return;
      out[key] = subschema(value, here);
    } else if (is_in(key, kChildMap)) {
      out[key] = schema_map(value, here);
    }
  }

  Plain schema_list(const Json& value, const std::string& at) {
    Plain out = Plain::array();
    if (!value.is_array()) refuse(at, "must be a list of schemas");
    for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
      out.push_back(subschema(value[i], fmt::format("{}/{}", at, i)));
    }
    return out;
  }

  Plain schema_map(const Json& value, const std::string& at) {
    Plain out = Plain::object();
    if (!value.is_object()) {
      refuse(at, "must be an object of schemas");
      return out;
    }
    for (const auto& [name, member] : value.items()) out[name] = subschema(member, child(at, name));
    return out;
  }

  // Draft 7: each member is a schema, or a list of the members that must then be there too.
  Plain dependencies(const Json& value, const std::string& at) {
    Plain out = Plain::object();
    if (!value.is_object()) refuse(at, "'dependencies' must be an object");
    for (const auto& [name, member] : value.items()) {
      const std::string here = child(at + "/dependencies", name);
      if (member.is_array()) {
        out[name] = to_plain(member);
      } else {
        edges_[at].push_back(here);
        out[name] = subschema(member, here);
      }
    }
    return out;
  }

  std::string reference(const Json& value, const std::string& at) {
    std::string text = value.is_string() ? value.get<std::string>() : "";
    if (!text.starts_with('#') || (text.size() > 1 && text[1] != '/')) {
      refuse(at, "$ref must be a JSON pointer into the same document, such as #/$defs/x");
      return "#";
    }
    const std::string target = text.substr(1);
    refs_.emplace(at, target);
    edges_[at].push_back(target);
    return text;
  }

  // Collects what becomes an Assertion; leaves its index in `out` when there is anything to assert.
  void assertion(const Json& node, const std::string& at, Plain& out) {
    Assertion made;
    bool any = false;
    const auto with = [&](const char* key, auto&& use) {
      if (const auto it = node.find(key); it != node.end()) {
        use(*it);
        any = true;
      }
    };
    with("type", [&](const Json& value) { made.types = types(value, at); });
    with("enum", [&](const Json& value) {
      if (!value.is_array()) return refuse(at, "'enum' must be a list");
      made.allowed = to_plain(value).get<std::vector<Plain>>();
    });
    with("const", [&](const Json& value) { made.allowed = std::vector<Plain>{to_plain(value)}; });
    with("minLength", [&](const Json& value) { made.min_length = count(value, "minLength", at); });
    with("maxLength", [&](const Json& value) { made.max_length = count(value, "maxLength", at); });
    with("pattern", [&](const Json& value) { made.pattern = regex(value, at); });
    if (const auto it = node.find("additionalProperties"); it != node.end() && *it == Json(false)) {
      made.members.emplace();
      with("properties", [&](const Json& value) {
        for (const auto& [name, unused] : value.items()) made.members->insert(name);
      });
      any = true;
    }
    if (!any) return;
    out[kAssertionKeyword] = out_.assertions.size();
    out_.assertions.push_back(std::move(made));
  }

  std::vector<std::string> types(const Json& value, const std::string& at) {
    std::vector<std::string> out;
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& type : list) {
      if (!type.is_string() || !is_in(type.get<std::string>(), kTypes)) {
        refuse(at, fmt::format("unknown type {}", dump_json(type)));
      } else {
        out.push_back(type.get<std::string>());
      }
    }
    return out;
  }

  std::uint64_t count(const Json& value, std::string_view key, const std::string& at) {
    if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0)) {
      return value.get<std::uint64_t>();
    }
    refuse(at, fmt::format("'{}' must be an integer of at least 0", key));
    return 0;
  }

  std::shared_ptr<const re2::RE2> regex(const Json& value, const std::string& at) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    auto out = std::make_shared<const re2::RE2>(value.is_string() ? value.get<std::string>() : "(", options);
    if (!out->ok()) refuse(at, fmt::format("pattern {}: {}", dump_json(value), out->error()));
    return out;
  }

  // How many subschemas deep `pointer` goes on the same value; refuses a circle, which would never end.
  std::size_t in_place_depth(const std::string& pointer, std::size_t level = 0) {
    if (level > kMaxInPlaceDepth || error_.has_value()) {
      refuse(pointer, "refers to itself in place, or nests too deep");
      return 0;
    }
    if (const auto known = depths_.find(pointer); known != depths_.end()) return known->second;
    std::size_t deepest = 0;
    for (const std::string& next : edges_[pointer]) {
      deepest = std::max(deepest, 1 + in_place_depth(next, level + 1));
    }
    depths_[pointer] = deepest;
    if (deepest > kMaxInPlaceDepth) refuse(pointer, "nests too deep");
    return deepest;
  }

  static std::string child(const std::string& at, std::string_view name) {
    std::string out = at + "/";
    for (const char c : name) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
    return out;
  }

  Lowered out_;
  std::optional<Error> error_;
  std::map<std::string, std::string> refs_;                // where -> target
  std::map<std::string, std::vector<std::string>> edges_;  // subschema -> those applied to the same value
  std::map<std::string, std::size_t> depths_;
};

}  // namespace

Result<Lowered> lower(const Json& schema) { return Lowering().run(schema); }

nlohmann::json to_plain(const Json& value) {
  if (value.is_object()) {
    Plain out = Plain::object();
    for (const auto& [key, member] : value.items()) out[key] = to_plain(member);
    return out;
  }
  if (value.is_array()) {
    Plain out = Plain::array();
    for (const Json& item : value) out.push_back(to_plain(item));
    return out;
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() >> 63U != 0) return value.get<double>();
  return Plain(value);
}

}  // namespace agentd::schema
