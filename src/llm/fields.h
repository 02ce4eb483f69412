// Members of a provider's documents, whatever their types are. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace agentd::llm {

// Null when it is not there, or `object` is none.
[[nodiscard]] inline const Json& field(const Json& object, std::string_view key) {
  static const Json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNone : *found;
}

// "" when it is not there, null, or no text.
[[nodiscard]] inline std::string_view text_field(const Json& object, std::string_view key) {
  const Json& value = field(object, key);
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

// 0 when it is not there, or no count.
[[nodiscard]] inline std::uint64_t count_field(const Json& object, std::string_view key) {
  const Json& value = field(object, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

}  // namespace agentd::llm
