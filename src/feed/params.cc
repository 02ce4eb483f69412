#include "feed/params.h"

#include <utility>

namespace agentd::feed {
namespace {

// Not `value >= 0`: the library compares the two integer types as signed, and 2^64-1 would be -1.
bool is_cursor(const Json& value) {
  return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

}  // namespace

Result<std::uint64_t> validate_params(const Json* params) {
  std::uint64_t from_seq = 0;
  std::vector<FieldViolation> violations;
  if (params != nullptr && !params->is_object()) {
    violations.push_back({.field = "params", .description = "must be an object"});
  } else if (params != nullptr) {
    for (const auto& [key, value] : params->items()) {
      if (key != "fromSeq") {
        violations.push_back({.field = "params." + key, .description = "is not a known member; fromSeq is"});
      } else if (is_cursor(value)) {
        from_seq = value.get<std::uint64_t>();
      } else {
        violations.push_back(
            {.field = "params.fromSeq", .description = "must be an integer from 0 to 18446744073709551615"});
      }
    }
  }
  if (violations.empty()) return from_seq;
  return std::unexpected(Error{.code = Code::kInvalidParams,
                               .message = "invalid params of SubscribeToEvents",
                               .violations = std::move(violations)});
}

}  // namespace agentd::feed
