#include "feed/readers.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agentd::feed {
namespace {

const Viewer kBoss{.is_operator = true, .principal = "user:boss"};
const Viewer kAlice{.is_operator = false, .principal = "user:alice"};
const Viewer kBob{.is_operator = false, .principal = "user:bob"};

class Sleeper final : public Reader {
 public:
  using Reader::Reader;
  bool revoked = false;
  // What it was woken with since the last call.
  std::vector<std::uint64_t> wakings() { return std::exchange(wakings_, {}); }

 private:
  void woken(std::uint64_t accounted) override { wakings_.push_back(accounted); }
  [[nodiscard]] bool is_revoked() const override { return revoked; }
  std::vector<std::uint64_t> wakings_;
};

using Numbers = std::vector<std::uint64_t>;

class ReadersTest : public testing::Test {
 protected:
  void push(const Visibility& visibility) { feed_.push(visibility, TaskRemoved{.id = "t"}); }
  void push_for(const char* who) { push(Visibility::owner(who)); }

  ManualClock clock_{1'770'000'000'000};
  Feed feed_{{.ring_events = 4, .version = "1"}, 100, [](std::uint64_t) { return agentd::Status(); }, clock_};
  Readers readers_{feed_};
};

TEST_F(ReadersTest, WakesWhomAnEventConcernsAndOperators) {
  Sleeper boss(readers_, kBoss), alice(readers_, kAlice), again(readers_, kAlice), bob(readers_, kBob);
  push_for("user:alice");
  readers_.moved();
  EXPECT_EQ(boss.wakings(), Numbers{99});
  EXPECT_EQ(alice.wakings(), Numbers{99});
  EXPECT_EQ(again.wakings(), Numbers{99});
  EXPECT_EQ(bob.wakings(), Numbers());
  EXPECT_EQ(readers_.through(), 100U);
}

TEST_F(ReadersTest, WakesThoseThatAreRevokedAndNobodyElse) {
  Sleeper alice(readers_, kAlice), again(readers_, kAlice);
  push_for("user:bob");
  readers_.moved();
  again.revoked = true;
  readers_.wake_revoked();
  EXPECT_EQ(alice.wakings(), Numbers());
  EXPECT_EQ(again.wakings(), Numbers{100});
}

TEST_F(ReadersTest, WakesOnceForAllThatCameTogether) {
  Sleeper alice(readers_, kAlice), bob(readers_, kBob);
  push_for("user:alice");
  push_for("user:bob");
  push_for("user:alice");
  readers_.moved();
  EXPECT_EQ(alice.wakings(), Numbers{99});
  EXPECT_EQ(bob.wakings(), Numbers{99});
  push_for("user:bob");
  readers_.moved();
  EXPECT_EQ(alice.wakings(), Numbers());
  EXPECT_EQ(bob.wakings(), Numbers{102});
}

TEST_F(ReadersTest, WakesEverybodyForWhatIsForEverybody) {
  Sleeper boss(readers_, kBoss), alice(readers_, kAlice);
  feed_.push(Visibility::all(), Resumed{});
  readers_.moved();
  EXPECT_EQ(boss.wakings(), Numbers{99});
  EXPECT_EQ(alice.wakings(), Numbers{99});
}

TEST_F(ReadersTest, WakesOperatorsAloneForWhatIsTheirs) {
  Sleeper boss(readers_, kBoss), alice(readers_, kAlice);
  push(Visibility::operators());
  readers_.moved();
  EXPECT_EQ(boss.wakings(), Numbers{99});
  EXPECT_EQ(alice.wakings(), Numbers());
}

TEST_F(ReadersTest, WakesEverybodyWhenTheRingHasMovedPastWhatItLookedAt) {
  Sleeper alice(readers_, kAlice);
  for (int i = 0; i < 5; ++i) push_for("user:bob");
  readers_.moved();
  EXPECT_EQ(alice.wakings(), Numbers{99});
  EXPECT_EQ(readers_.through(), 104U);
}

TEST_F(ReadersTest, WakesNobodyWhenNothingCameAndNobodyWhoLeft) {
  Sleeper alice(readers_, kAlice);
  auto gone = std::make_unique<Sleeper>(readers_, kAlice);
  Sleeper left(readers_, kAlice);
  readers_.moved();
  EXPECT_EQ(alice.wakings(), Numbers());
  gone.reset();
  left.leave();
  left.leave();
  push_for("user:alice");
  readers_.moved();
  EXPECT_EQ(alice.wakings(), Numbers{99});
  EXPECT_EQ(left.wakings(), Numbers());
}

}  // namespace
}  // namespace agentd::feed
