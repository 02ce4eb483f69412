#include "access/access.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace agentd::access {
namespace {

class AccessTest : public testing::Test {
 protected:
  [[nodiscard]] Access with(const config::Snapshot& config) const { return {config, sessions, clock}; }

  ManualClock clock;
  Sessions sessions;
};

config::Snapshot with_rules() {
  config::Snapshot config;
  config.a2a.bearer = config::Secret{.value = "top", .source = "env T"};
  config.a2a.principals.push_back({.id = "alice",
                                   .role = config::Role::kUser,
                                   .bearer = config::Secret{.value = "a", .source = "env A"},
                                   .any = false});
  return config;
}

TEST_F(AccessTest, LoopbackIsOperatorOnlyWhileNothingIsConfigured) {
  EXPECT_TRUE(with(config::Snapshot{}).identify({.loopback = true})->viewer.is_operator);
  EXPECT_FALSE(with(config::Snapshot{}).identify({.loopback = false}));
  EXPECT_FALSE(with(with_rules()).identify({.loopback = true}));
}

TEST_F(AccessTest, TheHeaderIsIgnoredWhereNoBearerCanBeChecked) {
  EXPECT_TRUE(with(config::Snapshot{}).identify({.authorization = "Bearer x", .loopback = true}));
}

TEST_F(AccessTest, ABearerNamesItsPrincipalAndAWrongOneNeverFallsBack) {
  config::Snapshot config = with_rules();
  config.a2a.principals.push_back({.id = "", .role = config::Role::kAgent, .bearer = {}, .any = true});
  const Access access = with(config);
  EXPECT_TRUE(access.identify({.authorization = "bearer  top"})->viewer.is_operator);
  EXPECT_EQ(access.identify({.authorization = "Bearer a"})->viewer.principal, "user:alice");
  EXPECT_EQ(access.identify({})->viewer.principal, "agent:any");
  for (const char* wrong : {"Bearer ", "Bearer to", "Bearer toptop", "Bearer A"}) {
    const auto refused = access.identify({.authorization = wrong, .loopback = true});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().metadata.size(), 1U) << wrong;
  }
}

TEST_F(AccessTest, ForeignPagesAndReboundHostsGetNothing) {
  config::Snapshot config;
  config.a2a.url = "https://agent.example:8443/x";
  const Access access = with(config);
  for (const char* host : {"127.0.0.1:8420", "LOCALHOST", "[::1]:1", "agent.example"}) {
    EXPECT_TRUE(access.from_here({.host = host})) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "[::1", ""}) {
    EXPECT_FALSE(access.from_here({.host = host})) << host;
  }
  EXPECT_FALSE(access.from_here({.origin = "null", .host = "localhost"}));
}

TEST_F(AccessTest, ASessionsTokenIsLookedUpAmongTheSessionsOnly) {
  const std::string token = std::string(kTokenPrefix) + "0123";
  const std::string header = "Bearer " + token;
  EXPECT_FALSE(with({}).identify({.authorization = header, .loopback = true}));
  sessions.add({.sid = "ds_1", .token_hash = sha256_hex(token), .name = "ada", .expires_ms = clock.wall_ms() + 1'000});
  const auto caller = with({}).identify({.authorization = header});
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->viewer.principal, "user:ada");
  EXPECT_FALSE(caller->is_revoked());
  sessions.end([](const Session& session) { return session.sid == "ds_1"; });
  EXPECT_TRUE(caller->is_revoked());
  EXPECT_FALSE(with({}).identify({.authorization = header, .loopback = true}));
}

TEST_F(AccessTest, ASessionIsOverAtItsTimeEvenBeforeItIsEnded) {
  const std::string token = std::string(kTokenPrefix) + "0123";
  sessions.add({.sid = "ds_1", .token_hash = sha256_hex(token), .name = "ada", .expires_ms = clock.wall_ms() + 1'000});
  EXPECT_TRUE(sessions.find(token, clock.wall_ms() + 999));
  EXPECT_FALSE(sessions.find(token, clock.wall_ms() + 1'000));
}

TEST_F(AccessTest, NobodyIsOperatorByChanceOnceThereIsSignIn) {
  config::Snapshot config;
  config.a2a.device_grant.enabled = true;
  EXPECT_FALSE(with(config).identify({.loopback = true}));
  const auto refused = with(config).identify({.authorization = "Bearer x", .loopback = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().metadata.size(), 1U);
}

TEST_F(AccessTest, AListedOriginComesInAndIsNobodyWithoutACredential) {
  config::Snapshot config;
  config.a2a.cors_origins = {"https://ui.example", "http://localhost:3000"};
  const Access access = with(config);
  EXPECT_TRUE(access.from_here({.origin = "https://ui.example", .host = "localhost"}));
  EXPECT_TRUE(access.from_here({.origin = "http://localhost:3000"}));
  EXPECT_FALSE(access.from_here({.origin = "https://ui.example", .host = "evil.example"}));
  for (const char* origin : {"null", "", "*", "https://ui.example.evil.example", "https://ui.example:8443",
                             "http://ui.example", "https://UI.example", "http://localhost", "https://ui.example/"}) {
    EXPECT_FALSE(access.from_here({.origin = origin})) << origin;
  }
  EXPECT_TRUE(access.identify({.loopback = true})->viewer.is_operator);
  for (const char* origin : {"https://ui.example", "null"}) {
    EXPECT_FALSE(access.identify({.origin = origin, .loopback = true})) << origin;
  }
  config.a2a.bearer = config::Secret{.value = "top", .source = "env T"};
  EXPECT_TRUE(with(config).identify({.authorization = "Bearer top", .origin = "https://ui.example"}));
}

}  // namespace
}  // namespace agentd::access
