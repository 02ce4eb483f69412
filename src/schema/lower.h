// Lowering: a JSON Schema rewritten into what valijson does right, or refused.
//
// valijson ignores keywords it does not know, takes regular expressions to std::regex (which recurses over
// its input), divides by a multipleOf of zero, and never returns from a schema that refers to itself in
// place. So it is given a document with only the keywords it handles well; type, const, enum, the length and
// the pattern of strings, and "no other members" become an index into `assertions` under the keyword
// kAssertionKeyword.
//
// Internal to src/schema. Values; no thread rule.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace agentd::schema {

inline constexpr char kAssertionKeyword[] = "assertion";

// What one subschema asks of a value, beside what is left in the document.
struct Assertion {
  std::vector<std::string> types;                      // empty = any
  std::optional<std::vector<nlohmann::json>> allowed;  // const or enum
  std::uint64_t min_length = 0;                        // of strings, in characters
  std::uint64_t max_length = std::numeric_limits<std::uint64_t>::max();
  std::shared_ptr<const re2::RE2> pattern;                    // of strings; null = any
  std::optional<std::set<std::string, std::less<>>> members;  // of objects: no others
};

struct Lowered {
  nlohmann::json document;
  std::vector<Assertion> assertions;
};

// Errors: kInvalidParams, as compile() has them.
[[nodiscard]] Result<Lowered> lower(const Json& schema);

// The value for valijson's adapter. An integer past the signed range becomes a double, as valijson would
// otherwise take it for a negative number.
[[nodiscard]] nlohmann::json to_plain(const Json& value);

}  // namespace agentd::schema
