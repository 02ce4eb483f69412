#include "base/rate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace agentd {
namespace {

constexpr Rate kRate = {.burst = 3, .per_ms = 30'000};

TEST(Rates, LetsABurstThroughAndThenWhatFlowsBack) {
  ManualClock clock;
  Rates rates(clock, 10);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.take("a", kRate), 0) << i;
  EXPECT_EQ(rates.take("a", kRate), 10'000);
  EXPECT_EQ(rates.take("b", kRate), 0) << "each key has its own";
  clock.advance_ms(9'999);
  EXPECT_EQ(rates.take("a", kRate), 1) << "what was refused costs nothing";
  EXPECT_EQ(rates.wait_ms("a", kRate), 1);
  clock.advance_ms(1);
  EXPECT_EQ(rates.wait_ms("a", kRate), 0) << "and looking takes nothing";
  EXPECT_EQ(rates.take("a", kRate), 0);
  EXPECT_EQ(rates.take("a", kRate), 10'000);
  clock.advance_ms(3'600'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.take("a", kRate), 0) << "never more than the burst: " << i;
  EXPECT_EQ(rates.take("a", kRate), 10'000);
}

TEST(Rates, DropsWhatIsFullAndThenWhatOwesLeast) {
  ManualClock clock;
  Rates rates(clock, 2);
  EXPECT_EQ(rates.take("full again", kRate), 0);
  clock.advance_ms(10'000);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.take("flooder", kRate), 0);
  EXPECT_EQ(rates.size(), 1U);
  EXPECT_EQ(rates.take("once", kRate), 0);
  EXPECT_EQ(rates.take("another", kRate), 0);
  EXPECT_EQ(rates.size(), 2U);
  EXPECT_GT(rates.take("flooder", kRate), 0) << "is not let off by others who come";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rates.take("once", kRate), 0) << "was the one to be forgotten";
}

TEST(Rates, HoldsAllThreadsToOneRate) {
  const ManualClock clock;
  Rates rates(clock, 1);
  std::vector<int> passed(4);
  std::vector<std::thread> threads;
  for (int& mine : passed) {
    threads.emplace_back([&rates, &mine] {
      for (int i = 0; i < 100; ++i) mine += rates.take("a", {.burst = 150, .per_ms = 1000}) == 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed[0] + passed[1] + passed[2] + passed[3], 150);
}

// A bucket as it is usually drawn: it holds up to `burst` tokens of `per_ms` parts each, and gains `burst` parts a ms.
struct Drawn {
  std::int64_t parts = 0;
  std::int64_t at_ms = 0;
};

RC_GTEST_PROP(RatesProperty, IsTheBucketThatIsUsuallyDrawn, ()) {
  // A token takes a whole number of nanoseconds to flow back, so that the two agree to the millisecond.
  const Rate rate{.burst = *rc::gen::element<std::uint64_t>(1, 2, 5, 20, 64),
                  .per_ms = *rc::gen::element<std::int64_t>(1, 40, 1000, 60'000)};
  const auto burst = static_cast<std::int64_t>(rate.burst);
  ManualClock clock;
  Rates rates(clock, 1000);
  std::map<std::string, Drawn> drawn;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::int64_t>>>(
      rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange<std::int64_t>(-rate.per_ms, rate.per_ms / 2 + 2)));
  for (const auto& [who, later] : steps) {
    clock.advance_ms(std::max<std::int64_t>(0, later));  // half of the steps follow at once
    const std::string key = std::to_string(who);
    Drawn& bucket = drawn.try_emplace(key, Drawn{.parts = burst * rate.per_ms}).first->second;
    bucket.parts = std::min(burst * rate.per_ms, bucket.parts + burst * (clock.mono_ms() - bucket.at_ms));
    bucket.at_ms = clock.mono_ms();
    const std::int64_t missing = std::max<std::int64_t>(0, rate.per_ms - bucket.parts);
    const std::int64_t wait = (missing + burst - 1) / burst;
    RC_ASSERT(rates.wait_ms(key, rate) == wait);
    RC_ASSERT(rates.take(key, rate) == wait);
    if (wait == 0) bucket.parts -= rate.per_ms;
  }
}

}  // namespace
}  // namespace agentd
