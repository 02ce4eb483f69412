// A form as the endpoints of sign-in take it (access.md section 4). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/target.h"

namespace agentd::wire {

inline constexpr std::size_t kFormBytes = 4'096;

// application/x-www-form-urlencoded: at most kFormBytes and 16 fields, no name twice. Errors: kInvalidParams.
[[nodiscard]] Result<http::Query> read_form(std::string_view body);

// "" when it is not there.
[[nodiscard]] std::string field(const http::Query& form, std::string_view name);

}  // namespace agentd::wire
