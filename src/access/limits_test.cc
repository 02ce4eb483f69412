#include "access/limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace agentd::access {
namespace {

const Error kNothing = {.code = Code::kUnauthenticated, .message = "nothing"};
const Error kWrong = {.code = Code::kUnauthenticated, .message = "wrong", .metadata = {{"error", "invalid_token"}}};
const Error kCertificate = {.code = Code::kPermissionDenied, .message = "certificate"};

std::string retry_after(const Error& error) {
  return error.code == Code::kRateLimited ? error.metadata.at(0).second : "";
}

TEST(Limits, CountFailuresOnly) {
  const ManualClock clock;
  Limits limits(clock);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limits.refused("192.0.2.1", kNothing).message, "nothing") << i;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(limits.refused("192.0.2.1", kWrong).message, "wrong") << i;
    EXPECT_EQ(limits.refused("192.0.2.1", kCertificate).message, "certificate") << i;
  }
  for (const Error& any : {kWrong, kCertificate, kNothing}) {
    EXPECT_EQ(retry_after(limits.refused("192.0.2.1", any)), "3") << any.message;
  }
  EXPECT_EQ(limits.refused("192.0.2.2", kWrong).message, "wrong") << "another source";
}

TEST(Limits, LetASourceFailAgainEveryThreeSeconds) {
  ManualClock clock;
  Limits limits(clock);
  while (limits.refused("127.0.0.1", kWrong).code != Code::kRateLimited) continue;
  clock.advance_ms(2'000);
  EXPECT_EQ(retry_after(limits.refused("127.0.0.1", kWrong)), "1");
  clock.advance_ms(1'000);
  EXPECT_EQ(limits.refused("127.0.0.1", kNothing).message, "nothing");
  EXPECT_EQ(limits.refused("127.0.0.1", kWrong).message, "wrong");
  EXPECT_EQ(retry_after(limits.refused("127.0.0.1", kWrong)), "3");
}

TEST(Limits, TellWhoGuessesNothingOfATokenThatIsRight) {
  ManualClock clock;
  Limits limits(clock);
  EXPECT_TRUE(limits.let_in("192.0.2.1"));
  while (limits.refused("192.0.2.1", kWrong).code != Code::kRateLimited) continue;
  EXPECT_EQ(retry_after(limits.let_in("192.0.2.1").error()), "3");
  EXPECT_TRUE(limits.let_in("192.0.2.2"));
  clock.advance_ms(3'000);
  EXPECT_TRUE(limits.let_in("192.0.2.1"));
}

TEST(Limits, TakeAnIpv6NetworkForOneSource) {
  const ManualClock clock;
  Limits limits(clock);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(limits.refused(fmt::format("2001:db8::{:x}", i), kWrong).message, "wrong") << i;
  }
  EXPECT_EQ(retry_after(limits.refused("2001:db8::ffff", kWrong)), "3");
}

config::Snapshot with_rates() {
  config::Snapshot config;
  for (const char* id : {"alice", "bob", "root"}) {
    config.a2a.principals.push_back({.id = id,
                                     .role = id == std::string("root") ? config::Role::kOperator : config::Role::kUser,
                                     .bearer = config::Secret{.value = id, .source = "env"},
                                     .rate = Rate{.burst = 2, .per_ms = 10'000}});
  }
  config.a2a.principals[1].rate.reset();
  return config;
}

TEST(Limits, HoldAPrincipalToTheRateOfItsRule) {
  ManualClock clock;
  Limits limits(clock);
  const Sessions sessions;
  const Access access(with_rates(), sessions, clock);
  const auto as = [&access](const std::string& token) {
    return *access.identify({.authorization = "Bearer " + token});
  };
  EXPECT_TRUE(limits.admit(as("alice")));
  EXPECT_TRUE(limits.admit(as("alice")));
  EXPECT_EQ(retry_after(limits.admit(as("alice")).error()), "5");
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(limits.admit(as("bob"))) << "has no rate";
    EXPECT_TRUE(limits.admit(as("root"))) << "is an operator";
  }
  clock.advance_ms(5'000);
  EXPECT_TRUE(limits.admit(as("alice")));
  EXPECT_EQ(retry_after(limits.admit(as("alice")).error()), "5");
}

}  // namespace
}  // namespace agentd::access
