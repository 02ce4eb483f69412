#include "base/backoff.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

TEST(Backoff, DoublesItsBoundUpToThirtySecondsAndStartsAnewAfterAReset) {
  Backoff backoff([] { return 0.5; });
  for (const std::int64_t half : {100, 200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000}) {
    EXPECT_EQ(backoff.next_ms(), half);
  }
  backoff.reset();
  EXPECT_EQ(backoff.next_ms(), 100);
}

TEST(Backoff, BeginsWhereItIsTold) {
  Backoff backoff([] { return 0.5; }, 500);
  EXPECT_EQ(backoff.next_ms(), 250);
  EXPECT_EQ(backoff.next_ms(), 500);
  backoff.reset();
  EXPECT_EQ(backoff.next_ms(), 250);
}

TEST(Backoff, JitterIsFull) {
  double draw = 0.0;
  Backoff backoff([&] { return draw; });
  EXPECT_EQ(backoff.next_ms(), 0);
  draw = 0.999;
  EXPECT_EQ(backoff.next_ms(), 399);
}

TEST(Backoff, TheSystemsRandomStaysInItsRange) {
  for (int i = 0; i < 1000; ++i) {
    const double draw = system_random();
    ASSERT_GE(draw, 0.0);
    ASSERT_LT(draw, 1.0);
  }
}

}  // namespace
}  // namespace agentd
