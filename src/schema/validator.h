// Validator: a JSON Schema compiled once, and values held to it.
//
// Understands draft 7 and the part of draft 2020-12 that means the same: $defs and local $ref (with
// siblings), const, enum, if/then/else, allOf/anyOf/oneOf/not, closed objects, and so on. A keyword that it
// does not understand but that would narrow what is allowed (prefixItems, unevaluated*, dependent*,
// patternProperties, $dynamicRef, ...) is refused by compile, never ignored. `format` is an annotation;
// patterns are RE2.
//
// Immutable once compiled, so any thread may validate. Meant for schemas of the operator, of the daemon
// itself and of the tools it was told to use. Cost: validating walks a copy of the value.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace agentd::schema {

class Validator {
 public:
  // Every violation, each with the path of the offending member ("steps[0].count"); empty when the value is
  // valid. Paths start with `root`, which is what the value is called by whoever sent it.
  [[nodiscard]] std::vector<FieldViolation> validate(const Json& value, std::string_view root = "") const;

 private:
  struct Compiled;
  friend Result<Validator> compile(const Json& schema);
  explicit Validator(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

// Errors: kInvalidParams, with the JSON pointer of the place in the schema and what is wrong there.
[[nodiscard]] Result<Validator> compile(const Json& schema);

}  // namespace agentd::schema
