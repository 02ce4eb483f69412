#include "base/time_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <span>

namespace agentd {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array kDurations = {Unit{"ms", 1}, Unit{"s", 1000}, Unit{"m", 60'000}, Unit{"h", 3'600'000},
                                   Unit{"d", 86'400'000}};
constexpr std::array kSizes = {Unit{"", 1}, Unit{"KiB", 1 << 10}, Unit{"MiB", 1 << 20}, Unit{"GiB", 1 << 30}};

Result<std::int64_t> parse_unit(std::string_view text, std::span<const Unit> units, std::string_view example) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && number >= 0 && text.front() != '-') {
    const std::string_view name(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    for (const Unit& unit : units) {
      if (unit.name != name) continue;
      if (number > std::numeric_limits<std::int64_t>::max() / unit.factor) break;
      return number * unit.factor;
    }
  }
  return fail(Code::kInvalidParams, fmt::format("\"{}\" is not understood: write it like {}", text, example));
}

// Reads exactly `digits` digits at `at`, or returns -1.
int digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  if (text.size() < at + digits) return -1;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

std::string rfc3339(std::int64_t epoch_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(epoch_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

Result<std::int64_t> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::kInvalidParams,
                fmt::format("\"{}\" is not an RFC 3339 time such as 2026-01-31T09:08:07.123Z", text));
  };
  if (text.size() < 20) return bad();
  const int year = digits_at(text, 0, 4);
  const int month = digits_at(text, 5, 2);
  const int day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2);
  const int minute = digits_at(text, 14, 2);
  const int second = digits_at(text, 17, 2);
  const bool marks = text[4] == '-' && text[7] == '-' && (text[10] == 'T' || text[10] == 't' || text[10] == ' ') &&
                     text[13] == ':' && text[16] == ':';
  const year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                            std::chrono::day{static_cast<unsigned>(day)}};
  if (!marks || year < 0 || !date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return bad();
  }
  std::size_t at = 19;
  int millis = 0;
  if (text[at] == '.') {
    const std::size_t first = ++at;
    for (int scale = 100; at < text.size() && digits_at(text, at, 1) >= 0; ++at, scale /= 10) {
      millis += digits_at(text, at, 1) * scale;
    }
    if (at == first) return bad();
  }
  int offset_minutes = 0;
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    const int hours = digits_at(zone, 1, 2);
    const int minutes = digits_at(zone, 4, 2);
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':' || hours < 0 || hours > 23 ||
        minutes < 0 || minutes > 59) {
      return bad();
    }
    offset_minutes = (zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
  }
  const std::int64_t days = sys_days{date}.time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second;
  return seconds * 1000 + millis;
}

Result<std::int64_t> parse_duration(std::string_view text) { return parse_unit(text, kDurations, "30s, 10m or 8h"); }

Result<std::int64_t> parse_size(std::string_view text) { return parse_unit(text, kSizes, "512KiB or 64MiB"); }

}  // namespace agentd
