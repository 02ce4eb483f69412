#include "schema/validator.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraint_builder.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "schema/lower.h"

namespace agentd::schema {
namespace {

using valijson::ValidationResults;
using valijson::adapters::Adapter;
using valijson::adapters::NlohmannJsonAdapter;

bool is_of(const Adapter& value, std::string_view type) {
  if (type == "null") return value.isNull();
  if (type == "boolean") return value.isBool();
  if (type == "string") return value.isString();
  if (type == "array") return value.isArray();
  if (type == "object") return value.isObject();
  if (type == "number") return value.isNumber();
  if (value.isInteger()) return true;
  return value.isDouble() && value.asDouble() == std::trunc(value.asDouble());  // 2.0 is an integer
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// One Assertion at work inside valijson.
class AssertionConstraint final : public valijson::constraints::PolyConstraint {
 public:
  explicit AssertionConstraint(const Assertion& assertion) : assertion_(assertion) {}

  bool validate(const Adapter& value, const std::vector<std::string>& context,
                ValidationResults* results) const override {
    bool valid = true;
    const auto miss = [&](const std::vector<std::string>& where, std::string why) {
      valid = false;
      if (results != nullptr) results->pushError(where, why);
    };
    check_type(value, [&](std::string why) { miss(context, std::move(why)); });
    if (value.isString()) check_text(value.asString(), [&](std::string why) { miss(context, std::move(why)); });
    if (value.isObject() && assertion_.members.has_value()) {
      value.applyToObject([&](const std::string& name, const Adapter&) {
        if (!assertion_.members->contains(name)) {
          std::vector<std::string> where = context;
          where.push_back("[" + name + "]");
          miss(where, "is not a known member");
        }
        return true;
      });
    }
    return valid;
  }

 private:
  template <class Miss>
  void check_type(const Adapter& value, Miss miss) const {
    const auto& types = assertion_.types;
    if (!types.empty() && std::ranges::none_of(types, [&](const auto& type) { return is_of(value, type); })) {
      miss(fmt::format("must be {}", fmt::join(types, " or ")));
    } else if (assertion_.allowed.has_value()) {
      const auto equal = [&](const auto& one) { return NlohmannJsonAdapter(one).equalTo(value, true); };
      if (std::ranges::any_of(*assertion_.allowed, equal)) return;
      std::vector<std::string> texts;
      for (const auto& one : *assertion_.allowed) {
        texts.push_back(one.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      }
      miss(fmt::format("must be {}{}", texts.size() > 1 ? "one of " : "", fmt::join(texts, ", ")));
    }
  }

  template <class Miss>
  void check_text(const std::string& text, Miss miss) const {
    const std::size_t length = characters(text);
    if (length < assertion_.min_length) {
      miss(fmt::format("must have at least {} characters", assertion_.min_length));
    }
    if (length > assertion_.max_length) {
      miss(fmt::format("must have at most {} characters", assertion_.max_length));
    }
    if (assertion_.pattern != nullptr && !re2::RE2::PartialMatch(text, *assertion_.pattern)) {
      miss(fmt::format("must match {}", assertion_.pattern->pattern()));
    }
  }

  valijson::constraints::Constraint* cloneInto(void* place) const override {
    return new (place) AssertionConstraint(*this);
  }
  std::size_t sizeOf() const override { return sizeof(AssertionConstraint); }

  Assertion assertion_;
};

class AssertionBuilder final : public valijson::ConstraintBuilder {
 public:
  explicit AssertionBuilder(const std::vector<Assertion>& assertions) : assertions_(assertions) {}
  valijson::constraints::Constraint* make(const Adapter& index) const override {
    return new AssertionConstraint(assertions_.at(static_cast<std::size_t>(index.asInteger())));
  }

 private:
  const std::vector<Assertion>& assertions_;
};

// valijson reports a miss once more at each level above it; these say nothing that the miss itself does not.
bool is_echo(std::string_view description) {
  static constexpr std::array<std::string_view, 9> kEchoes = {
      "Failed to validate against schema associated",
      "Failed to validate item",
      "Failed to validate against additional properties",
      "Failed to validate against child schema",
      "Failed to validate against a conditional schema",
      "Failed to validate against dependent schema",
      "Failed to validate against any child schemas allowed by oneOf",
      "Failed to validate against any schemas allowed by anyOf",
      "Cannot validate item"};
  return std::ranges::any_of(kEchoes, [&](std::string_view echo) { return description.starts_with(echo); });
}

std::string path_of(const std::vector<std::string>& context, std::string_view root) {
  std::string path(root);
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string_view name = std::string_view(context[i]).substr(1, context[i].size() - 2);
    if (!name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) {
      path += fmt::format("[{}]", name);
    } else {
      path += fmt::format("{}{}", path.empty() ? "" : ".", name);
    }
  }
  return path;
}

FieldViolation to_violation(const ValidationResults::Error& error, std::string_view root) {
  std::string path = path_of(error.context, root);
  constexpr std::string_view kMissing = "Missing required property '";
  if (const std::string_view text = error.description; text.starts_with(kMissing)) {
    const std::string_view name = text.substr(kMissing.size(), text.size() - kMissing.size() - 2);
    path += fmt::format("{}{}", path.empty() ? "" : ".", name);
    return {.field = std::move(path), .description = "is required"};
  }
  return {.field = std::move(path), .description = error.description};
}

}  // namespace

struct Validator::Compiled {
  valijson::Schema schema;
};

Result<Validator> compile(const Json& schema) {
  Result<Lowered> lowered = lower(schema);
  if (!lowered.has_value()) return std::unexpected(lowered.error());
  auto compiled = std::make_shared<Validator::Compiled>();
  try {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.addConstraintBuilder(kAssertionKeyword,
                                new AssertionBuilder(lowered->assertions));  // parser owns it
    parser.populateSchema(NlohmannJsonAdapter(lowered->document), compiled->schema);
  } catch (const std::exception& e) {
    return fail(Code::kInvalidParams, fmt::format("schema: {}", e.what()));
  }
  return Validator(std::move(compiled));
}

std::vector<FieldViolation> Validator::validate(const Json& value, std::string_view root) const {
  const nlohmann::json plain = to_plain(value);
  ValidationResults results;
  std::vector<FieldViolation> out;
  try {
    valijson::Validator validator;
    if (validator.validate(compiled_->schema, NlohmannJsonAdapter(plain), &results)) return out;
  } catch (const std::exception& e) {
    return {{.field = std::string(root), .description = e.what()}};
  }
  for (const auto& error : results) {
    if (is_echo(error.description)) continue;
    FieldViolation found = to_violation(error, root);
    if (std::ranges::find(out, found) == out.end()) out.push_back(std::move(found));
  }
  if (out.empty()) {  // a schema of `false` is missed without a word
    out.push_back({.field = results.numErrors() > 0 ? path_of(results.begin()->context, root) : std::string(root),
                   .description = "is not allowed here"});
  }
  return out;
}

}  // namespace agentd::schema
