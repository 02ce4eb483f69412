// The log: JSON lines on stderr, or text when stderr is a terminal. One global, as style.md allows.
//
// Callers pass the message and, for what a machine will search, fields. A secret never goes in: message
// bodies, tokens and headers are not logged at any level.
// Thread rule: any thread. Cost: one formatted write to stderr; below the level, one comparison.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"

namespace agentd::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };
enum class Format : std::uint8_t { kAuto, kJson, kText };

void configure(Level level, Format format);

void write(Level level, std::string_view message, const Json& fields = Json::object());
inline void debug(std::string_view message, const Json& fields = Json::object()) {
  write(Level::kDebug, message, fields);
}
inline void info(std::string_view message, const Json& fields = Json::object()) {
  write(Level::kInfo, message, fields);
}
inline void warn(std::string_view message, const Json& fields = Json::object()) {
  write(Level::kWarn, message, fields);
}
inline void error(std::string_view message, const Json& fields = Json::object()) {
  write(Level::kError, message, fields);
}

}  // namespace agentd::log
