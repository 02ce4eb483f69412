#include "feed/feed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agentd::feed {
namespace {

constexpr std::int64_t kNow = 1'770'000'000'000;
const Viewer kBoss{.is_operator = true, .principal = "user:boss"};
using Numbers = std::vector<std::uint64_t>;

// A store that remembers what was reserved, and can be told to fail.
class Reservations {
 public:
  ReserveBlock block() {
    return [this](std::uint64_t end) -> agentd::Status {
      asked.push_back(end);
      if (broken) return fail(Code::kUnavailable, "disk full");
      reserved = end;
      return {};
    };
  }
  std::vector<std::uint64_t> asked;
  std::uint64_t reserved = 0;
  bool broken = false;
};

class FeedTest : public testing::Test {
 protected:
  Feed make(std::uint64_t first, Options options = {}) {
    return Feed(std::move(options), first, reservations_.block(), clock_);
  }
  static FramePtr newest(const Feed& feed) {
    const Subscription reader(feed, {.viewer = kBoss}, feed.window().newest - 1);
    return reader.peek(1).frames.at(0);
  }

  ManualClock clock_{kNow};
  Reservations reservations_;
};

TEST(FirstSeq, IsPastTheReservedBlockAndPastTheClock) {
  EXPECT_EQ(first_seq(0, 1'767'225'600'000), 2U);
  EXPECT_EQ(first_seq(0, 0), 2U);  // a clock before 2026
  EXPECT_EQ(first_seq(0, 1'767'225'610'999), 10U * 65'536U + 65'470U);
  EXPECT_EQ(first_seq(655'359, 1'767'225'610'000), 655'361U);
  EXPECT_EQ(first_seq(655'357, 1'767'225'610'000), 655'360U);
}

TEST_F(FeedTest, WritesTheWholeFrameOnOneLine) {
  Feed feed = make(41);
  feed.push(Visibility::owner("user:alice"), RunRemoved{"run-1"});
  EXPECT_EQ(newest(feed)->text,
            R"({"event":{"seq":41,"ts":1770000000000,"kind":"run.removed","data":{"id":"run-1"}}})");
  EXPECT_EQ(newest(feed)->visibility.principal(), "user:alice");
}

TEST_F(FeedTest, NumbersEventsWithoutGapsAndStampsTheirTime) {
  Feed feed = make(41);
  EXPECT_EQ(feed.window(), (Window{.oldest = 41, .newest = 40}));
  EXPECT_EQ(feed.push(Visibility::all(), Resumed{}), 41U);
  clock_.advance_ms(5);
  EXPECT_EQ(feed.push(Visibility::all(), Resumed{}), 42U);
  EXPECT_NE(newest(feed)->text.find("\"ts\":1770000000005"), std::string::npos);
  EXPECT_EQ(feed.window(), (Window{.oldest = 41, .newest = 42}));
}

TEST_F(FeedTest, CutsTheAnnotationsOutOfTheFramesOwnBytes) {
  Feed feed = make(2);
  feed.push(Visibility::owner("user:alice"), Task{.task = {{"id", "t"}, {"status", {{"state", "TASK_STATE_WORKING"}}}},
                                                  .annotations = {{"created", "x"}}});
  const FramePtr annotated = newest(feed);
  feed.push(Visibility::owner("user:alice"),
            Task{.task = {{"id", "t"}, {"status", {{"state", "TASK_STATE_WORKING"}}}}, .annotations = {}});
  const FramePtr plain = newest(feed);
  const auto pieces = annotated->pieces(false);
  std::string joined = std::string(pieces[0]) + std::string(pieces[1]);
  joined.replace(joined.find("\"seq\":2"), 7, "\"seq\":3");
  EXPECT_EQ(joined, plain->text);
  EXPECT_EQ(annotated->pieces(true)[0], annotated->text);
  EXPECT_EQ(plain->pieces(false)[0], plain->text);
}

TEST_F(FeedTest, ReservesABlockOfNumbersBeforeTheFirstIsUsed) {
  const Feed feed = make(100);
  EXPECT_EQ(reservations_.asked, (Numbers{100 + 65'535}));
}

// So that a life begins past the earlier one by the clock alone, should its store be lost.
TEST_F(FeedTest, IsAheadOfTheClockForASecondAtMostAfterALifeThatWasKilled) {
  {
    const Feed killed = make(first_seq(0, kNow));
  }
  EXPECT_GT(first_seq(reservations_.reserved, kNow), first_seq(0, kNow));
  EXPECT_EQ(first_seq(reservations_.reserved, kNow + 1'001), first_seq(0, kNow + 1'001));
}

TEST_F(FeedTest, ReservesTheNextBlockJustBeforeItIsNeeded) {
  Feed feed = make(100, {.block = 10});
  for (int i = 0; i < 10; ++i) feed.push(Visibility::all(), Resumed{});
  EXPECT_EQ(reservations_.asked, (Numbers{109}));
  EXPECT_EQ(feed.push(Visibility::all(), Resumed{}), 110U);
  EXPECT_EQ(reservations_.asked, (Numbers{109, 119}));
}

TEST_F(FeedTest, MakesEveryCursorOfAnEarlierLifeStale) {
  {
    Feed feed = make(100, {.block = 10});
    for (int i = 0; i < 3; ++i) feed.push(Visibility::all(), Resumed{});
  }
  Feed next = make(first_seq(reservations_.reserved, 0), {.block = 10});
  EXPECT_EQ(reservations_.reserved, 120U);
  for (int i = 0; i < 8; ++i) next.push(Visibility::all(), Resumed{});
  // Whatever the earlier life can have shown: its numbers, and to the end of its block.
  for (std::uint64_t cursor = 99; cursor <= 109; ++cursor) {
    const Subscription stale(next, {.viewer = kBoss}, cursor);
    EXPECT_TRUE(Json::parse(stale.hello())["hello"]["resync"]) << cursor;
  }
}

TEST_F(FeedTest, GoesOnWhenAReservationFailsAndTriesAgain) {
  reservations_.broken = true;
  Feed feed = make(100, {.ring_events = 4});
  reservations_.broken = false;
  while (feed.window().newest < 100 + 4095) feed.push(Visibility::all(), Resumed{});
  EXPECT_EQ(reservations_.asked.size(), 1U);
  EXPECT_EQ(feed.push(Visibility::all(), Resumed{}), 100U + 4096U);
  EXPECT_EQ(reservations_.reserved, 100U + 4096U + 65'535U);
}

TEST_F(FeedTest, PushesAuditOnlyWhileIntrospectionIsOn) {
  Feed feed = make(10);
  const Audit audit{.ts = 1, .principal = {}, .role = {}, .action = "a", .target = {}, .outcome = "ok", .sid = {}};
  EXPECT_EQ(feed.push(Visibility::operators(), audit), 9U);
  EXPECT_EQ(feed.window().newest, 9U);
  feed.set_introspection(true);
  EXPECT_EQ(feed.push(Visibility::operators(), audit), 10U);
}

TEST_F(FeedTest, WakesOncePerPushAfterTheEventIsThere) {
  Feed feed = make(10);
  std::vector<std::uint64_t> seen;
  feed.on_push([&] { seen.push_back(feed.window().newest); });
  feed.push(Visibility::all(), Resumed{});
  feed.push(Visibility::all(), Resumed{});
  EXPECT_EQ(seen, (Numbers{10, 11}));
}

TEST_F(FeedTest, BoundsTheRingByBytes) {
  Feed feed = make(10, {.ring_events = 1000, .ring_bytes = 10'000});
  for (int i = 0; i < 20; ++i) feed.push(Visibility::all(), Draining{std::string(900, 'x')});
  EXPECT_EQ(feed.window().newest, 29U);
  EXPECT_GT(feed.window().oldest, 20U);
  EXPECT_EQ(feed.evicted(), feed.window().oldest - 10);
}

using FeedDeathTest = FeedTest;

TEST_F(FeedDeathTest, RefusesAnEventThatGoesWiderThanItsKind) {
  Feed feed = make(10);
  EXPECT_DEATH(feed.push(Visibility::owner("user:alice"), ChildRemoved{"1"}), "child.removed may not go so wide");
}

#ifndef NDEBUG
TEST_F(FeedDeathTest, AbortsWithKindDataAndReasonWhenAPayloadMissesItsSchema) {
  Feed feed = make(10);
  EXPECT_DEATH(feed.push(Visibility::all(), Config{.paths = {}, .source = "hand"}),
               "kind config; data.source must be one of .*; data .*hand");
}
#endif

}  // namespace
}  // namespace agentd::feed
