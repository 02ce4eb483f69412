#include "access/device_codes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace agentd::access {
namespace {

using Poll = DeviceCodes::Poll;

class DeviceCodesTest : public testing::Test {
 protected:
  static DeviceAsk from(const std::string& source, const std::string& network = "net") {
    return {.client_id = "cli", .peer = source, .source = source, .network = network};
  }
  Poll poll(const DeviceCodes::Asked& asked) {
    clock.advance_ms(5'000);
    return codes.poll(asked.device_code, "cli").poll;
  }

  ManualClock clock;
  DeviceCodes codes{clock, 600'000};
};

TEST_F(DeviceCodesTest, ReadsACodeAsPeopleTypeIt) {
  for (const char* typed : {"BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-C-D-F-G-H-J-K"}) {
    EXPECT_EQ(normal_user_code(typed), "BCDF-GHJK") << typed;
  }
  for (const char* typed : {"", "BCDF", "BCDF-GHJA", "BCDF-GHJKL", "BCDF-GHJ1", "BCDF_GHJK"}) {
    EXPECT_EQ(normal_user_code(typed), "") << typed;
  }
}

TEST_F(DeviceCodesTest, MakesCodesOfAllLettersAlike) {
  std::map<char, int> seen;
  for (int i = 0; i < 2'000; ++i) {
    const auto asked = codes.ask(from("s"));
    EXPECT_EQ(normal_user_code(asked.user_code), asked.user_code);
    EXPECT_EQ(asked.device_code.size(), 64U);
    for (const char c : asked.user_code) ++seen[c];
  }
  seen.erase('-');
  EXPECT_EQ(seen.size(), 20U);
  for (const auto& [letter, count] : seen) EXPECT_NEAR(count, 800, 200) << letter;
}

TEST_F(DeviceCodesTest, IsApprovedOnce) {
  const auto asked = codes.ask(from("s"));
  EXPECT_EQ(poll(asked), Poll::kPending);
  ASSERT_TRUE(codes.approve(asked.user_code, {.name = "ada", .approved_by = "operator"}));
  EXPECT_FALSE(codes.approve(asked.user_code, {.name = "eve"}));
  EXPECT_TRUE(codes.pending().empty());
  clock.advance_ms(5'000);
  const auto polled = codes.poll(asked.device_code, "cli");
  EXPECT_EQ(polled.poll, Poll::kApproved);
  EXPECT_EQ(polled.approval.name, "ada");
  EXPECT_EQ(polled.request->user_code, asked.user_code);
  EXPECT_EQ(poll(asked), Poll::kInvalid);
}

TEST_F(DeviceCodesTest, IsDeniedOnce) {
  const auto asked = codes.ask(from("s"));
  ASSERT_TRUE(codes.deny(asked.user_code));
  EXPECT_EQ(poll(asked), Poll::kDenied);
  EXPECT_EQ(poll(asked), Poll::kInvalid);
}

TEST_F(DeviceCodesTest, AnApprovalIsTakenBackUntilTheDeviceHasItsToken) {
  const auto first = codes.ask(from("a")), second = codes.ask(from("b"));
  codes.approve(first.user_code, {.name = "ada"});
  codes.approve(second.user_code, {.name = "bob"});
  EXPECT_EQ(codes.withdraw([](const Approval& approval) { return approval.name == "ada"; }).size(), 1U);
  EXPECT_EQ(poll(first), Poll::kDenied);
  EXPECT_TRUE(codes.deny(second.user_code));
  EXPECT_FALSE(codes.deny(second.user_code));
  EXPECT_EQ(poll(second), Poll::kDenied);
}

TEST_F(DeviceCodesTest, IsOfOneClient) {
  const auto asked = codes.ask(from("s"));
  EXPECT_EQ(codes.poll(asked.device_code, "other").poll, Poll::kInvalid);
  EXPECT_EQ(codes.poll("nonsense", "cli").poll, Poll::kInvalid);
  EXPECT_EQ(poll(asked), Poll::kPending);
}

TEST_F(DeviceCodesTest, TellsWhoPollsTooFastToSlowDownEachTimeMore) {
  const auto asked = codes.ask(from("s"));
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kPending);
  clock.advance_ms(4'999);
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kSlowDown);
  clock.advance_ms(9'999);
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kSlowDown);
  clock.advance_ms(15'000);
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kPending);
}

TEST_F(DeviceCodesTest, ExpiresAndIsForgottenLater) {
  const auto asked = codes.ask(from("s"));
  clock.advance_ms(600'000);
  EXPECT_FALSE(codes.approve(asked.user_code, {.name = "ada"}));
  EXPECT_TRUE(codes.pending().empty());
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kExpired);
  clock.advance_ms(600'000);
  static_cast<void>(codes.ask(from("s")));
  EXPECT_EQ(codes.poll(asked.device_code, "cli").poll, Poll::kInvalid);
}

TEST_F(DeviceCodesTest, AFloodDisplacesItsOwn) {
  const auto honest = codes.ask(from("honest"));
  for (int i = 0; i < 100; ++i) {
    clock.advance_ms(1);
    static_cast<void>(codes.ask(from("flooder")));
  }
  EXPECT_EQ(codes.pending().size(), 5U);
  EXPECT_TRUE(codes.find(honest.user_code));
}

TEST_F(DeviceCodesTest, AFloodFromManySourcesOfOneNetworkDisplacesItsOwn) {
  const auto honest = codes.ask(from("honest", "quiet"));
  for (int i = 0; i < 100; ++i) static_cast<void>(codes.ask(from("f" + std::to_string(i % 7), "loud")));
  EXPECT_EQ(codes.pending().size(), 17U);
  EXPECT_TRUE(codes.find(honest.user_code));
}

TEST_F(DeviceCodesTest, NeverWaitsForMoreThanSixtyFour) {
  const auto honest = codes.ask(from("honest", "quiet"));
  for (int i = 0; i < 500; ++i) {
    static_cast<void>(codes.ask(from("f" + std::to_string(i % 40), "n" + std::to_string(i % 10))));
  }
  EXPECT_EQ(codes.pending().size(), 64U);
  EXPECT_TRUE(codes.find(honest.user_code));
}

TEST_F(DeviceCodesTest, ListsTheOldestFirst) {
  for (const char* source : {"a", "b", "c"}) {
    static_cast<void>(codes.ask(from(source)));
    clock.advance_ms(1);
  }
  std::string order;
  for (const DeviceRequest& request : codes.pending()) order += request.ask.source;
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace agentd::access
