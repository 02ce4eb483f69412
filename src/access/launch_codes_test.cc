#include "access/launch_codes.h"

#include <gtest/gtest.h>

namespace agentd::access {
namespace {

class LaunchCodesTest : public testing::Test {
 protected:
  const LaunchBinding here{.client_id = "cli", .origin = "http://127.0.0.1:8420"};
  ManualClock clock;
  LaunchCodes codes{clock};
};

TEST_F(LaunchCodesTest, IsGoodOnce) {
  const std::string code = codes.issue(here);
  EXPECT_EQ(code.size(), 64U);
  EXPECT_TRUE(codes.redeem(code, here));
  EXPECT_FALSE(codes.redeem(code, here));
}

TEST_F(LaunchCodesTest, IsUsedUpByWhoeverShowsIt) {
  for (const LaunchBinding& wrong :
       {LaunchBinding{"other", here.origin}, LaunchBinding{"cli", "https://127.0.0.1:8420"},
        LaunchBinding{"cli", "http://localhost:8420"}, LaunchBinding{"cli", ""}}) {
    const std::string code = codes.issue(here);
    EXPECT_FALSE(codes.redeem(code, wrong)) << wrong.client_id << " at " << wrong.origin;
    EXPECT_FALSE(codes.redeem(code, here)) << wrong.client_id << " at " << wrong.origin;
  }
}

TEST_F(LaunchCodesTest, AnUnknownCodeLeavesTheOthersAlone) {
  const std::string code = codes.issue(here);
  for (const char* unknown : {"", "nonsense"}) EXPECT_FALSE(codes.redeem(unknown, here));
  EXPECT_TRUE(codes.redeem(code, here));
}

TEST_F(LaunchCodesTest, IsGoodForAMinute) {
  const std::string first = codes.issue(here), second = codes.issue(here);
  clock.advance_ms(59'999);
  EXPECT_TRUE(codes.redeem(first, here));
  clock.advance_ms(1);
  EXPECT_FALSE(codes.redeem(second, here));
}

TEST_F(LaunchCodesTest, TheOldestOfSeventeenGoes) {
  const std::string oldest = codes.issue(here), next = codes.issue(here);
  for (int i = 2; i < 17; ++i) static_cast<void>(codes.issue(here));
  EXPECT_FALSE(codes.redeem(oldest, here));
  EXPECT_TRUE(codes.redeem(next, here));
}

}  // namespace
}  // namespace agentd::access
