#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/time_text.h"

namespace agentd::log {
namespace {

// The only mutable globals of the tree besides the logger itself and what it keeps. A reload may change it while others write.
std::atomic<bool> g_json = !::isatty(STDERR_FILENO);
std::atomic<std::shared_ptr<const Redactor>> g_redactor;

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

// What was written last.
class Kept {
 public:
  void add(Level level, Json text) {
    const MutexLock lock(mutex_);
    lines_.push_back({.seq = ++newest_, .level = level, .text = std::move(text)});
    if (lines_.size() > kMost) lines_.pop_front();
  }

  Recent after(std::uint64_t seq, std::size_t limit, Level level, std::string_view prefix) {
    const MutexLock lock(mutex_);
    Recent out{.lines = {}, .oldest = lines_.empty() ? 0 : lines_.front().seq, .newest = newest_};
    for (const Line& line : lines_) {
      if (out.lines.size() == limit) break;
      const bool wanted =
          line.seq > seq && line.level >= level && line.text["msg"].get_ref<const std::string&>().starts_with(prefix);
      if (wanted) out.lines.push_back(line);
    }
    return out;
  }

 private:
  static constexpr std::size_t kMost = 1'000;
  Mutex mutex_;
  std::deque<Line> lines_ AGENTD_GUARDED_BY(mutex_);
  std::uint64_t newest_ AGENTD_GUARDED_BY(mutex_) = 0;
};

Kept& kept() {
  static Kept instance;
  return instance;
}

Json json_line(Level level, std::string_view message, const Json& fields) {
  using std::chrono::system_clock;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch());
  Json line = {{"ts", rfc3339(now.count())}, {"level", to_string(level)}, {"msg", message}};
  line.update(fields);
  return line;
}

std::string text_line(std::string_view message, const Json& fields) {
  std::string line(message);
  for (const auto& [key, value] : fields.items()) {
    line += fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : dump_json(value));
  }
  return line;
}

}  // namespace

std::string_view to_string(Level level) {
  constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

Recent recent(std::uint64_t after, std::size_t limit, Level level, std::string_view prefix) {
  return kept().after(after, limit, level, prefix);
}

void configure(Level level, Format format) {
  const bool json = format == Format::kJson || (format == Format::kAuto && ::isatty(STDERR_FILENO) == 0);
  g_json = json;
  logger().set_pattern(json ? "%v" : "%H:%M:%S.%e %^%-5l%$ %v");
  logger().set_level(to_spdlog(level));
}

void redact_with(Redactor redactor) { g_redactor.store(std::make_shared<const Redactor>(std::move(redactor))); }

void write(Level level, std::string_view message, const Json& fields) {
  if (!logger().should_log(to_spdlog(level))) return;
  const auto redactor = g_redactor.load();
  const Json shown = redactor ? redactor->redact_json(fields) : fields;
  Json line = json_line(level, message, shown);
  logger().log(to_spdlog(level), "{}", g_json ? dump_json(line) : text_line(message, shown));
  kept().add(level, std::move(line));
}

}  // namespace agentd::log
