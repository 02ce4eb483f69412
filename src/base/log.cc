#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/time_text.h"

namespace agentd::log {
namespace {

// The only mutable global of the tree besides the logger itself. A reload may change it while others write.
std::atomic<bool> g_json = !::isatty(STDERR_FILENO);

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("agentd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_level(spdlog::level::info);
    made->set_pattern(g_json ? "%v" : "%H:%M:%S.%e %^%-5l%$ %v");
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view name(Level level) {
  constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string json_line(Level level, std::string_view message, const Json& fields) {
  using std::chrono::system_clock;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch());
  Json line = {{"ts", rfc3339(now.count())}, {"level", name(level)}, {"msg", message}};
  line.update(fields);
  return dump_json(line);
}

std::string text_line(std::string_view message, const Json& fields) {
  std::string line(message);
  for (const auto& [key, value] : fields.items()) {
    line += fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return line;
}

}  // namespace

void configure(Level level, Format format) {
  const bool json = format == Format::kJson || (format == Format::kAuto && ::isatty(STDERR_FILENO) == 0);
  g_json = json;
  logger().set_pattern(json ? "%v" : "%H:%M:%S.%e %^%-5l%$ %v");
  logger().set_level(to_spdlog(level));
}

void write(Level level, std::string_view message, const Json& fields) {
  if (!logger().should_log(to_spdlog(level))) return;
  logger().log(to_spdlog(level), "{}", g_json ? json_line(level, message, fields) : text_line(message, fields));
}

}  // namespace agentd::log
