// What a provider's refusal means: whether another attempt may do better (kUnavailable) or the configuration has to change (kConfig), and
// what to say about it. Pure. The messages may hold the provider's own words at any length, with whatever it echoes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace agentd::llm {

// An answer with a status other than 2xx. `model` is the name that was asked for.
[[nodiscard]] Error failure_of_status(int status, std::string_view body, std::string_view model);
// A document in place of an answer, or within its stream, that has an `error`.
[[nodiscard]] Error failure_of_document(const Json& document);

// Milliseconds of a Retry-After header, seconds or an HTTP date, at most 5 minutes; 0 for none, a past one, and nonsense.
[[nodiscard]] std::int64_t retry_after_ms(std::string_view header, std::int64_t wall_ms);

}  // namespace agentd::llm
