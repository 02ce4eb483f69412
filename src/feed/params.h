// The params of agentd.events/SubscribeToEvents (events.md section 3). Pure.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/result.h"

namespace agentd::feed {

// The cursor that `params` asks for; null (absent params) means 0, the start of the feed. The value must come
// from parse_json, which has refused integers past 64 bits. Errors: kInvalidParams, with every violation.
[[nodiscard]] Result<std::uint64_t> validate_params(const Json* params);

}  // namespace agentd::feed
