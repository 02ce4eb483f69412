// What an unquoted scalar of YAML means: the core schema of YAML 1.2, section 10.3.2.
#pragma once

#include <string_view>

#include "base/json.h"

namespace agentd {

// A boolean, null, an integer (decimal, 0x or 0o), a float, or else the text itself.
// Errors: kParse for a number that JSON cannot hold (past 64 bits, infinite, not a number).
[[nodiscard]] Result<Json> plain_scalar(std::string_view text);

}  // namespace agentd
