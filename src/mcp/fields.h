// Members of what a server says, whatever their types are. Pure.
#pragma once

#include <string>

#include "base/json.h"

namespace agentd::mcp {

// Null when it is not there, or `holder` is no object.
[[nodiscard]] inline const Json& field(const Json& holder, const char* name) {
  static const Json kNone;
  const auto found = holder.is_object() ? holder.find(name) : holder.end();
  return found == holder.end() ? kNone : *found;
}

// "" when it is not there, or no text.
[[nodiscard]] inline std::string text_field(const Json& holder, const char* name) {
  const Json& value = field(holder, name);
  return value.is_string() ? value.get<std::string>() : "";
}

// 0 when it is not there, or no number.
[[nodiscard]] inline double number_field(const Json& holder, const char* name) {
  const Json& value = field(holder, name);
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace agentd::mcp
