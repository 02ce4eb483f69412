// A form as the endpoints of sign-in take it (access.md section 4). Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "http/target.h"

namespace agentd::wire {

// application/x-www-form-urlencoded: at most 4,096 bytes, no name twice. Errors: kInvalidParams.
[[nodiscard]] Result<http::Query> read_form(std::string_view body);

}  // namespace agentd::wire
