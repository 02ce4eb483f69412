#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd::log {
namespace {

constexpr std::size_t kKept = 1'000;
constexpr std::size_t kAll = 10 * kKept;

// Writes lines "<message> 0" and so on; the number of the first of them.
std::uint64_t write_lines(const std::string& message, std::size_t count) {
  const std::uint64_t before = recent(0, 0, Level::kDebug, "").newest;
  testing::internal::CaptureStderr();
  for (std::size_t i = 0; i < count; ++i) info(message + " " + std::to_string(i), {{"i", i}});
  testing::internal::GetCapturedStderr();
  return before + 1;
}

TEST(Log, TheNewestThousandLinesAreKept) {
  const std::uint64_t first = write_lines("line", kKept + 5);
  const Recent kept = recent(0, kAll, Level::kDebug, "");
  ASSERT_EQ(kept.lines.size(), kKept);
  EXPECT_EQ(kept.oldest, first + 5);
  EXPECT_EQ(kept.newest, first + 5 + kKept - 1);
  EXPECT_EQ(kept.lines.front().seq, kept.oldest);
  EXPECT_EQ(kept.lines.front().text["msg"], "line 5");
  EXPECT_EQ(kept.lines.back().text["i"], kKept + 4);
}

TEST(Log, KnownSecretsAreTakenOutOfEveryLine) {
  redact_with(Redactor({"tok-0123456789"}));
  testing::internal::CaptureStderr();
  info("a server says", {{"line", "my token is tok-0123456789, ok?"}});
  const std::string written = testing::internal::GetCapturedStderr();
  redact_with(Redactor({}));
  EXPECT_NE(written.find("my token is ***, ok?"), std::string::npos) << written;
  EXPECT_EQ(recent(0, kAll, Level::kDebug, "a server says").lines.back().text["line"], "my token is ***, ok?");
}

TEST(Log, WhatIsAskedForIsTheOldestPastANumber) {
  const std::uint64_t first = write_lines("some", 5);
  warn("other");
  const auto numbers = [&](std::uint64_t after, std::size_t limit, Level level, std::string_view prefix) {
    std::vector<std::uint64_t> out;
    for (const Line& line : recent(after, limit, level, prefix).lines) out.push_back(line.seq - first);
    return out;
  };
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(numbers(first, 2, Level::kDebug, ""), (Numbers{1, 2}));
  EXPECT_EQ(numbers(first + 3, kAll, Level::kDebug, ""), (Numbers{4, 5}));
  EXPECT_EQ(numbers(first, kAll, Level::kDebug, "other"), Numbers{5});
  EXPECT_EQ(numbers(first - 1, kAll, Level::kWarn, ""), Numbers{5});
}

TEST(Log, WhatIsBelowTheLevelIsNotKept) {
  const std::uint64_t before = recent(0, 0, Level::kDebug, "").newest;
  debug("quiet");
  EXPECT_EQ(recent(0, 0, Level::kDebug, "").newest, before);
}

}  // namespace
}  // namespace agentd::log
