#include "base/quota.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace agentd {
namespace {

TEST(Quota, CountsInAllAndForEachKeyAndTakesPlacesBack) {
  Quota quota;
  const Quota::Limits limits{.all = 3, .per_key = 2};
  auto first = quota.take("a", limits);
  auto second = quota.take("a", limits);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(quota.take("a", limits).error(), Quota::Full::kKey);
  auto other = quota.take("b", limits);
  ASSERT_TRUE(other);
  EXPECT_EQ(quota.take("c", limits).error(), Quota::Full::kAll);
  EXPECT_EQ(quota.taken(), 3U);

  Quota::Place moved = std::move(*first);
  EXPECT_EQ(quota.taken(), 3U);
  moved.give_back();
  moved.give_back();
  EXPECT_FALSE(moved);
  EXPECT_EQ(quota.taken(), 2U);
  EXPECT_TRUE(quota.take("a", limits)) << "and gone again with the temporary";
  {
    const Quota::Place ended = std::move(*second);
  }
  {
    const Quota::Place ended = std::move(*other);
  }
  EXPECT_EQ(quota.taken(), 0U);
}

}  // namespace
}  // namespace agentd
