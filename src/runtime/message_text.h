// The text of an A2A message, as a model or a rule reads it. Pure.
#pragma once

#include <string>

#include "base/json.h"

namespace agentd::runtime {

// Its text parts, a line each.
[[nodiscard]] std::string text_of(const Json& message);
// All of its parts: data as JSON, files by their name or address, which is all that a chat can be told of them.
[[nodiscard]] std::string chat_text_of(const Json& message);

}  // namespace agentd::runtime
