#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <random>
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

// Ring and Subscription against a model that keeps everything and applies the rules of events.md by the
// letter.
class Model {
 public:
  struct Event {
    std::uint64_t seq;
    Kind kind;
    Visibility visibility;
    std::size_t cost;
  };

  Model(std::size_t events, std::size_t bytes, std::uint64_t first)
      : max_events_(events), max_bytes_(bytes), newest_(first - 1) {}

  void push(Event event) {
    newest_ = event.seq;
    held_.push_back(std::move(event));
    while (held_.size() > max_events_ || (held_.size() > 1 && bytes() > max_bytes_)) held_.pop_front();
  }
  [[nodiscard]] std::uint64_t oldest() const { return held_.empty() ? newest_ + 1 : held_.front().seq; }
  [[nodiscard]] std::uint64_t newest() const { return newest_; }
  [[nodiscard]] Numbers visible(const Interest& interest, std::uint64_t cursor) const {
    Numbers out;
    for (const Event& event : held_) {
      if (event.seq > cursor && interest.kinds.contains(event.kind) && may_see(interest.viewer, event.visibility)) {
        out.push_back(event.seq);
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Event& event : held_) sum += event.cost;
    return sum;
  }
  std::deque<Event> held_;
  std::size_t max_events_, max_bytes_;
  std::uint64_t newest_;
};

Frame random_frame(std::mt19937& random, std::uint64_t seq) {
  static const std::vector<Visibility> kTags = {Visibility::all(), Visibility::operators(),
                                                Visibility::owner("user:alice"), Visibility::owner("user:bob")};
  Frame out;
  out.seq = seq;
  out.kind = static_cast<Kind>(random() % kKindCount);
  out.visibility = kTags[random() % kTags.size()];
  out.text = std::string(random() % 2000, 'x');
  return out;
}

TEST(RingModel, HoldsTheSameEventsAsTheModelThroughARandomLife) {
  std::mt19937 random(7);
  std::uint64_t seq = 50;
  Ring ring(40, 40'000, seq);
  Model model(40, 40'000, seq);
  for (int i = 0; i < 50'000; ++i, ++seq) {
    auto frame = std::make_shared<const Frame>(random_frame(random, seq));
    model.push({.seq = seq, .kind = frame->kind, .visibility = frame->visibility, .cost = Ring::cost(*frame)});
    ring.push(std::move(frame));
    ASSERT_EQ(ring.window(), (Window{.oldest = model.oldest(), .newest = model.newest()}));
    ASSERT_EQ(ring.from(model.oldest()).front().frame->seq, model.oldest());
  }
}

// What a reader of the model below does at each turn.
struct Reader {
  std::unique_ptr<Subscription> subscription;
  std::uint64_t asked = 0;
};

class RandomLife {
 public:
  void step() {
    const auto dice = random_() % 10;
    if (dice < 2) {
      push();
    } else if (dice < 3) {
      open();
    } else {
      read();
    }
  }
  [[nodiscard]] std::size_t delivered() const { return delivered_; }
  [[nodiscard]] std::size_t lagged() const { return lagged_; }

 private:
  void push() {
    const std::string id = std::to_string(random_());
    switch (random_() % 4) {
      case 0: return note(feed_.push(Visibility::all(), Resumed{}), Kind::kLifecycle, Visibility::all());
      case 1:
        return note(feed_.push(Visibility::operators(), ChildRemoved{id}), Kind::kChildRemoved,
                    Visibility::operators());
      case 2:
        return note(feed_.push(Visibility::owner("user:alice"), TaskRemoved{id}), Kind::kTaskRemoved,
                    Visibility::owner("user:alice"));
      default:
        return note(feed_.push(Visibility::owner("user:bob"), RunRemoved{id}), Kind::kRunRemoved,
                    Visibility::owner("user:bob"));
    }
  }
  void note(std::uint64_t seq, Kind kind, const Visibility& visibility) {
    ASSERT_EQ(seq, model_.newest() + 1);
    model_.push({.seq = seq, .kind = kind, .visibility = visibility, .cost = 1});
  }

  void open() {
    Reader& reader = readers_[random_() % readers_.size()];
    Interest interest{.viewer = std::vector<Viewer>{kBoss, kAlice, kBob}[random_() % 3]};
    if (random_() % 3 == 0) interest.kinds = KindSet::parse("task.removed,lifecycle").value();
    const std::uint64_t low = model_.oldest() - std::min<std::uint64_t>(model_.oldest(), 5);
    const std::uint64_t cursor = random_() % 5 == 0 ? 0 : low + random_() % (model_.newest() - low + 5);
    reader.subscription = std::make_unique<Subscription>(feed_, interest, cursor);
    const bool stale = cursor != 0 && (cursor < model_.oldest() - 1 || cursor > model_.newest());
    const Json hello = Json::parse(reader.subscription->hello())["hello"];
    ASSERT_EQ(hello["resync"], stale) << cursor;
    ASSERT_EQ(hello["seq"], model_.newest());
    ASSERT_EQ(reader.subscription->cursor(), cursor == 0 || stale ? model_.oldest() - 1 : cursor);
  }

  void read() {
    Reader& reader = readers_[random_() % readers_.size()];
    if (reader.subscription == nullptr) return;
    Subscription& subscription = *reader.subscription;
    const Subscription::Batch batch = subscription.peek(1 + random_() % 600);
    ASSERT_EQ(batch.lagged, subscription.cursor() < model_.oldest() - 1);
    if (batch.lagged) {
      ++lagged_;
      reader.subscription.reset();
      return;
    }
    Numbers expected = model_.visible(subscription.interest(), subscription.cursor());
    ASSERT_LE(batch.frames.size(), expected.size());
    ASSERT_EQ(batch.frames.empty(), expected.empty());
    for (std::size_t i = 0; i < batch.frames.size(); ++i) ASSERT_EQ(batch.frames[i]->seq, expected[i]);
    const bool all = batch.frames.size() == expected.size();
    ASSERT_EQ(batch.through, all ? model_.newest() : expected[batch.frames.size()] - 1);
    delivered_ += batch.frames.size();
    subscription.advance(batch.through);
  }

  std::mt19937 random_{42};
  ManualClock clock_;
  Feed feed_{{.ring_events = 16}, 1000, [](std::uint64_t) { return agentd::Status(); }, clock_};
  Model model_{16, kPlenty, 1000};
  std::vector<Reader> readers_ = std::vector<Reader>(20);
  std::size_t delivered_ = 0, lagged_ = 0;
};

TEST(SubscriptionModel, DeliversWhatTheModelDeliversThroughARandomLife) {
  RandomLife life;
  for (int i = 0; i < 100'000 && !testing::Test::HasFatalFailure(); ++i) life.step();
  EXPECT_GT(life.delivered(), 10'000U);
  EXPECT_GT(life.lagged(), 100U);
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
