#include "runtime/instance.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

class InstanceTest : public CoreTest {
 protected:
  Instance& instance() { return life_->instance; }
  void SetUp() override { begin(); }
  void count() {
    instance().count([](Counters& counters) { ++counters.turns; });
  }
};

TEST_F(InstanceTest, AChangeIsPushedAtOnceAndABurstEndsWithItsLastState) {
  count();
  ASSERT_EQ(pushed("status").size(), 1U);
  EXPECT_EQ(pushed("status").front()["counters"]["turns"], 1);
  clock_.advance_ms(245);
  for (int i = 0; i < 100; ++i) count();
  EXPECT_EQ(pushed("status").size(), 1U);
  ASSERT_TRUE(run_until([&] { return pushed("status").size() > 1; }));
  EXPECT_EQ(pushed("status").size(), 2U);
  EXPECT_EQ(pushed("status").back()["counters"]["turns"], 101);
}

TEST_F(InstanceTest, AChangeAfterAQuietTimeIsPushedAtOnce) {
  count();
  clock_.advance_ms(250);
  count();
  EXPECT_EQ(pushed("status").size(), 2U);
}

TEST_F(InstanceTest, OnlyOperatorsSeeTheStatus) {
  count();
  EXPECT_TRUE(pushed("status", kAlice).empty());
}

TEST_F(InstanceTest, DrainingIsToldToEveryoneAndOnce) {
  EXPECT_FALSE(instance().draining());
  instance().drain("SIGTERM");
  instance().drain("SIGINT");
  EXPECT_TRUE(instance().draining());
  const auto told = pushed("lifecycle", kAlice);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front()["reason"], "SIGTERM");
  EXPECT_EQ(pushed("status").back()["draining"], true);
}

TEST_F(InstanceTest, APauseOutlastsTheDaemonUntilItIsCalledOff) {
  instance().pause("lunch");
  instance().pause("more lunch");
  ASSERT_TRUE(run_until_durable());
  begin();
  EXPECT_TRUE(instance().paused());
  EXPECT_TRUE(pushed("").empty()) << "nothing has changed";
  EXPECT_TRUE(instance().unpause());
  ASSERT_TRUE(run_until_durable());
  begin();
  EXPECT_FALSE(instance().paused());
}

TEST_F(InstanceTest, ARowThatCannotBeReadIsNoStart) {
  ASSERT_TRUE(store_.commit_now({store::InstanceRow{"[]"}}));
  const Status loaded = instance().load();
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Code::kUnavailable);
}

TEST_F(InstanceTest, SaysWhenTheStoreRefuses) {
  EXPECT_FALSE(instance().payload().store_degraded);
  store_.set(Mood::kRefuses);
  EXPECT_TRUE(instance().payload().store_degraded);
}

}  // namespace
}  // namespace agentd::runtime
