#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "feed/feed.h"

namespace agentd::feed {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 30U;
const Viewer kBoss{.is_operator = true, .principal = "user:boss"};
const Viewer kAlice{.is_operator = false, .principal = "user:alice"};
const Viewer kBob{.is_operator = false, .principal = "user:bob"};

class SubscriptionTest : public testing::Test {
 protected:
  // Events 100 to 107 through a ring of four: it holds 104 to 107.
  void wrap() {
    for (int i = 0; i < 8; ++i) feed_.push(Visibility::all(), Resumed{});
    ASSERT_EQ(feed_.window(), (Window{.oldest = 104, .newest = 107}));
  }
  static bool resync(const Subscription& reader) { return Json::parse(reader.hello())["hello"]["resync"]; }
  static std::vector<std::uint64_t> numbers(const Subscription& reader, std::size_t max_bytes = kPlenty) {
    std::vector<std::uint64_t> out;
    for (const FramePtr& frame : reader.peek(max_bytes).frames) out.push_back(frame->seq);
    return out;
  }

  ManualClock clock_{1'770'000'000'000};
  Feed feed_{{.ring_events = 4, .introspection = false, .version = "1.2.3"},
             100,
             [](std::uint64_t) { return agentd::Status(); },
             clock_};
};

using Numbers = std::vector<std::uint64_t>;

TEST_F(SubscriptionTest, SaysHelloWithWhatItWasAskedAndWhereTheFeedStands) {
  wrap();
  EXPECT_EQ(Subscription(feed_, {.viewer = kBoss}, 105).hello(),
            R"({"hello":{"seq":107,"resume":105,"resync":false,"introspection":false,"version":"1.2.3"}})");
}

TEST_F(SubscriptionTest, ReplaysAWrappedRingFromItsFrontForCursorZero) {
  wrap();
  const Subscription reader(feed_, {.viewer = kBoss}, 0);
  EXPECT_FALSE(resync(reader));
  EXPECT_EQ(numbers(reader), (Numbers{104, 105, 106, 107}));
}

TEST_F(SubscriptionTest, HonoursACursorThatLosesNothing) {
  wrap();
  const Subscription before(feed_, {.viewer = kBoss}, 103);  // oldest - 1
  EXPECT_FALSE(resync(before));
  EXPECT_EQ(numbers(before), (Numbers{104, 105, 106, 107}));
  const Subscription newest(feed_, {.viewer = kBoss}, 107);
  EXPECT_FALSE(resync(newest));
  EXPECT_EQ(numbers(newest), Numbers());
  EXPECT_EQ(newest.cursor(), 107U);
}

TEST_F(SubscriptionTest, ResyncsACursorThatWasEvictedOrIsAhead) {
  wrap();
  for (const std::uint64_t cursor : {std::uint64_t{102}, std::uint64_t{1}, std::uint64_t{108}, ~std::uint64_t{0}}) {
    const Subscription reader(feed_, {.viewer = kBoss}, cursor);
    EXPECT_TRUE(resync(reader)) << cursor;
    EXPECT_EQ(reader.cursor(), 103U);
    EXPECT_EQ(numbers(reader), (Numbers{104, 105, 106, 107}));
    EXPECT_EQ(Json::parse(reader.hello())["hello"]["resume"], cursor);
  }
}

TEST_F(SubscriptionTest, KnowsOneCursorBesideZeroInAnEmptyFeed) {
  EXPECT_FALSE(resync(Subscription(feed_, {.viewer = kBoss}, 0)));
  EXPECT_FALSE(resync(Subscription(feed_, {.viewer = kBoss}, 99)));
  EXPECT_TRUE(resync(Subscription(feed_, {.viewer = kBoss}, 98)));
  EXPECT_TRUE(resync(Subscription(feed_, {.viewer = kBoss}, 100)));
  Subscription ahead(feed_, {.viewer = kBoss}, 5000);
  feed_.push(Visibility::all(), Resumed{});
  EXPECT_EQ(numbers(ahead), (Numbers{100}));
}

TEST_F(SubscriptionTest, StepsFromReplayToLiveWithoutLossOrRepetition) {
  wrap();
  Subscription reader(feed_, {.viewer = kBoss}, 105);
  EXPECT_EQ(numbers(reader), (Numbers{106, 107}));
  reader.advance(107);
  feed_.push(Visibility::all(), Resumed{});
  EXPECT_EQ(numbers(reader), (Numbers{108}));
  reader.advance(108);
  EXPECT_EQ(numbers(reader), Numbers());
}

TEST_F(SubscriptionTest, IsLaggedAsSoonAsAnEventPastItsCursorIsGone) {
  Subscription reader(feed_, {.viewer = kBoss}, 0);
  for (int i = 0; i < 4; ++i) feed_.push(Visibility::all(), Resumed{});
  EXPECT_FALSE(reader.peek(kPlenty).lagged);
  feed_.push(Visibility::all(), Resumed{});
  EXPECT_TRUE(reader.peek(kPlenty).lagged);
  EXPECT_TRUE(reader.peek(kPlenty).frames.empty());
}

TEST_F(SubscriptionTest, PeekChangesNothingAndKeepsToItsBytesButForOneFrame) {
  wrap();
  const Subscription reader(feed_, {.viewer = kBoss}, 0);
  const std::size_t one = reader.peek(1).frames.at(0)->text.size();
  EXPECT_EQ(numbers(reader, 1), (Numbers{104}));
  EXPECT_EQ(numbers(reader, 2 * one), (Numbers{104, 105}));
  EXPECT_EQ(numbers(reader, 3 * one - 1), (Numbers{104, 105}));
  EXPECT_EQ(reader.peek(2 * one).through, 105U);
  EXPECT_EQ(reader.cursor(), 103U);
}

TEST_F(SubscriptionTest, ShowsEachViewerItsOwnAndAccountsForTheRest) {
  feed_.push(Visibility::owner("user:alice"), TaskRemoved{"a"});
  feed_.push(Visibility::owner("user:bob"), TaskRemoved{"b"});
  feed_.push(Visibility::operators(), TaskRemoved{"o"});
  feed_.push(Visibility::all(), Resumed{});
  EXPECT_EQ(numbers({feed_, {.viewer = kBoss}, 0}), (Numbers{100, 101, 102, 103}));
  EXPECT_EQ(numbers({feed_, {.viewer = kAlice}, 0}), (Numbers{100, 103}));
  EXPECT_EQ(numbers({feed_, {.viewer = kBob}, 0}), (Numbers{101, 103}));
  EXPECT_EQ(numbers({feed_, {.viewer = {}}, 0}), (Numbers{103}));
  Subscription alice(feed_, {.viewer = kAlice}, 100);
  EXPECT_EQ(alice.peek(kPlenty).through, 103U);
  alice.advance(103);
  feed_.push(Visibility::owner("user:bob"), TaskRemoved{"b"});
  EXPECT_TRUE(alice.peek(kPlenty).frames.empty());
  EXPECT_EQ(alice.peek(kPlenty).through, 104U);  // so that a quiet stream does not lag
}

TEST_F(SubscriptionTest, FiltersByKind) {
  feed_.push(Visibility::all(), Resumed{});
  feed_.push(Visibility::operators(), ChildRemoved{"1"});
  feed_.push(Visibility::all(), Config{.paths = {}, .source = "reload"});
  const Subscription reader(feed_, {.viewer = kBoss, .kinds = KindSet::parse("config,child.removed").value()}, 0);
  EXPECT_EQ(numbers(reader), (Numbers{101, 102}));
}

TEST_F(SubscriptionTest, ReplaysAuditOnlyWhileIntrospectionIsOn) {
  feed_.set_introspection(true);
  feed_.push(Visibility::operators(),
             Audit{.ts = 1, .principal = {}, .role = {}, .action = "a", .target = {}, .outcome = "ok", .sid = {}});
  feed_.push(Visibility::all(), Resumed{});
  const Subscription reader(feed_, {.viewer = kBoss}, 0);
  EXPECT_EQ(numbers(reader), (Numbers{100, 101}));
  feed_.set_introspection(false);
  EXPECT_EQ(numbers(reader), (Numbers{101}));
  EXPECT_FALSE(Json::parse(Subscription(feed_, {.viewer = kBoss}, 0).hello())["hello"]["introspection"]);
  feed_.set_introspection(true);
  EXPECT_TRUE(Json::parse(Subscription(feed_, {.viewer = kBoss}, 0).hello())["hello"]["introspection"]);
}

TEST_F(SubscriptionTest, SaysGoodbyeWithTheCursorToResumeFrom) {
  wrap();
  Subscription reader(feed_, {.viewer = kBoss}, 104);
  reader.advance(106);
  EXPECT_EQ(reader.goodbye("deadline"), R"({"goodbye":{"seq":106,"reason":"deadline"}})");
  EXPECT_EQ(reader.goodbye("revoked"), R"({"goodbye":{"seq":106,"reason":"revoked"}})");
}

using SubscriptionDeathTest = SubscriptionTest;

TEST_F(SubscriptionDeathTest, RefusesToGoBackAndToInventReasons) {
  wrap();
  Subscription reader(feed_, {.viewer = kBoss}, 105);
  EXPECT_DEATH(reader.advance(104), "never goes back");
  EXPECT_DEATH(static_cast<void>(reader.goodbye("bored")), "one of two reasons");
}

TEST(SubscriptionThreads, EachReaderGetsEveryEventOnceWhileTheCorePushes) {
  constexpr std::uint64_t kEvents = 3000;
  ManualClock clock;
  Feed feed({.ring_events = kEvents}, 1, [](std::uint64_t) { return agentd::Status(); }, clock);
  std::atomic<std::uint64_t> wakes{0};
  feed.on_push([&] { ++wakes; });
  std::vector<std::uint64_t> sums(3);
  std::vector<std::jthread> readers;
  for (std::uint64_t& sum : sums) {
    readers.emplace_back([&feed, &sum] {
      Subscription reader(feed, {.viewer = kAlice}, 0);
      while (reader.cursor() < kEvents) {
        const auto batch = reader.peek(1000);
        for (const FramePtr& frame : batch.frames) sum += frame->seq;
        reader.advance(batch.through);
      }
    });
  }
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    feed.push(i % 2 == 0 ? Visibility::owner("user:alice") : Visibility::owner("user:bob"), TaskRemoved{"t"});
    if (i % 500 == 0) feed.set_introspection(i % 1000 == 0);
  }
  readers.clear();
  EXPECT_EQ(wakes, kEvents);
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, kEvents / 2 * (kEvents / 2 + 1));  // of the even numbers
}

}  // namespace
}  // namespace agentd::feed
