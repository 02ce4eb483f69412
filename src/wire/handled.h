// What an endpoint of sign-in makes of a request on its edge: the answer, or work for the core that gives it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <variant>

#include "access/caller.h"
#include "base/result.h"
#include "http/message.h"

namespace agentd::wire {

// For the core thread. What it answers counts once the journal is durable.
using Work = std::move_only_function<http::Response()>;
using Handled = std::variant<http::Response, Work>;

// Who asks, or its refusal, which is counted where it is a failure. `csrf`: of a form, in place of the header.
using Identify = std::function<Result<access::Caller>(std::optional<std::string_view> csrf)>;

}  // namespace agentd::wire
