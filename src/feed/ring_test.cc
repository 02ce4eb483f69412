#include "feed/ring.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd::feed {
namespace {

FramePtr frame(std::uint64_t seq, std::size_t text_bytes = 10) {
  Frame out;
  out.seq = seq;
  out.text = std::string(text_bytes, 'x');
  return std::make_shared<const Frame>(std::move(out));
}

constexpr std::size_t kPlenty = std::size_t{1} << 30U;

TEST(Ring, StartsEmptyJustBeforeItsFirstNumber) {
  const Ring ring(4, kPlenty, 100);
  EXPECT_EQ(ring.window(), (Window{.oldest = 100, .newest = 99}));
}

TEST(Ring, EvictsTheOldestPastItsNumberOfEvents) {
  Ring ring(3, kPlenty, 100);
  for (std::uint64_t seq = 100; seq < 105; ++seq) ring.push(frame(seq));
  EXPECT_EQ(ring.window(), (Window{.oldest = 102, .newest = 104}));
  EXPECT_EQ(ring.evicted(), 2U);
  std::uint64_t expected = 103;
  for (const Ring::Slot& slot : ring.from(103)) EXPECT_EQ(slot.frame->seq, expected++);
  EXPECT_EQ(expected, 105U);
  EXPECT_TRUE(ring.from(105).empty());
}

TEST(Ring, EvictsByBytesAndCountsThem) {
  const std::size_t one = Ring::cost(*frame(1, 1000));
  Ring ring(100, 3 * one, 1);
  for (std::uint64_t seq = 1; seq <= 3; ++seq) ring.push(frame(seq, 1000));
  EXPECT_EQ(ring.window().oldest, 1U);
  EXPECT_EQ(ring.bytes(), 3 * one);
  ring.push(frame(4, 1001));  // one byte too many: two must go
  EXPECT_EQ(ring.window(), (Window{.oldest = 3, .newest = 4}));
  EXPECT_EQ(ring.bytes(), 2 * one + 1);
  EXPECT_EQ(ring.evicted(), 2U);
}

TEST(Ring, KeepsAnEventBiggerThanItselfUntilTheNext) {
  Ring ring(10, 2000, 1);
  ring.push(frame(1));
  ring.push(frame(2, 50'000));
  EXPECT_EQ(ring.window(), (Window{.oldest = 2, .newest = 2}));
  ring.push(frame(3));
  EXPECT_EQ(ring.window(), (Window{.oldest = 3, .newest = 3}));
  EXPECT_EQ(ring.bytes(), Ring::cost(*frame(3)));
}

TEST(Ring, LeavesAnEvictedFrameToWhoeverHoldsIt) {
  Ring ring(1, kPlenty, 1);
  ring.push(frame(1));
  const FramePtr held = ring.from(1).front().frame;
  ring.push(frame(2));
  EXPECT_EQ(held->text.size(), 10U);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(RingDeathTest, RefusesAGapInTheNumbers) {
  Ring ring(4, kPlenty, 1);
  EXPECT_DEATH(ring.push(frame(2)), "order of their numbers");
}

TEST(OwnerTag, TellsTheReachesApart) {
  EXPECT_EQ(tag_of(Visibility::all()), kTagAll);
  EXPECT_EQ(tag_of(Visibility::operators()), kTagOperators);
  EXPECT_EQ(tag_of(Visibility::owner("user:alice")), owner_tag("user:alice"));
  EXPECT_NE(owner_tag("user:alice"), owner_tag("user:bob"));
  EXPECT_GE(owner_tag(""), 2U);
}

}  // namespace
}  // namespace agentd::feed
