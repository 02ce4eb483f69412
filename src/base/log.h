// The log: JSON lines on stderr, or text when stderr is a terminal. One global, as style.md allows.
//
// Callers pass the message and, for what a machine will search, fields. A secret never goes in: message
// bodies, tokens and headers are not logged at any level. Those that the configuration has are taken out of what others wrote, too.
// The newest 1,000 lines are kept, for the op `debug.events`.
// Thread rule: any thread. Cost: one formatted write to stderr, one JSON object kept; below the level, one comparison.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/redact.h"

namespace agentd::log {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };
enum class Format : std::uint8_t { kAuto, kJson, kText };

void configure(Level level, Format format);
// From now on these are taken out of every line.
void redact_with(Redactor redactor);

[[nodiscard]] std::string_view to_string(Level level);

struct Line {
  std::uint64_t seq = 0;  // from 1, in the order of writing
  Level level = Level::kInfo;
  Json text;  // {ts, level, msg} and the fields
};
// The oldest `limit` lines after number `after` that are of `level` or above and whose message begins with `prefix`.
struct Recent {
  std::vector<Line> lines;
  std::uint64_t oldest = 0, newest = 0;  // kept; 0 = none
};
[[nodiscard]] Recent recent(std::uint64_t after, std::size_t limit, Level level, std::string_view prefix);

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
