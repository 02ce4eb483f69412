#include "access/access.h"

#include <gtest/gtest.h>

namespace agentd::access {
namespace {

config::Snapshot with_rules() {
  config::Snapshot config;
  config.a2a.bearer = config::Secret{.value = "top", .source = "env T"};
  config.a2a.principals.push_back({.id = "alice",
                                   .role = config::Role::kUser,
                                   .bearer = config::Secret{.value = "a", .source = "env A"},
                                   .any = false});
  return config;
}

TEST(Access, LoopbackIsOperatorOnlyWhileNothingIsConfigured) {
  EXPECT_TRUE(Access(config::Snapshot{}).identify({.loopback = true})->viewer.is_operator);
  EXPECT_FALSE(Access(config::Snapshot{}).identify({.loopback = false}));
  EXPECT_FALSE(Access(with_rules()).identify({.loopback = true}));
}

TEST(Access, TheHeaderIsIgnoredWhereNoBearerCanBeChecked) {
  EXPECT_TRUE(Access(config::Snapshot{}).identify({.authorization = "Bearer x", .loopback = true}));
}

TEST(Access, ABearerNamesItsPrincipalAndAWrongOneNeverFallsBack) {
  config::Snapshot config = with_rules();
  config.a2a.principals.push_back({.id = "", .role = config::Role::kAgent, .bearer = {}, .any = true});
  const Access access(config);
  EXPECT_TRUE(access.identify({.authorization = "bearer  top"})->viewer.is_operator);
  EXPECT_EQ(access.identify({.authorization = "Bearer a"})->viewer.principal, "user:alice");
  EXPECT_EQ(access.identify({})->viewer.principal, "agent:any");
  for (const char* wrong : {"Bearer ", "Bearer to", "Bearer toptop", "Bearer A"}) {
    const auto refused = access.identify({.authorization = wrong, .loopback = true});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().metadata.size(), 1U) << wrong;
  }
}

TEST(Access, ForeignPagesAndReboundHostsGetNothing) {
  config::Snapshot config;
  config.a2a.url = "https://agent.example:8443/x";
  const Access access(config);
  for (const char* host : {"127.0.0.1:8420", "LOCALHOST", "[::1]:1", "agent.example"}) {
    EXPECT_TRUE(access.from_here({.host = host})) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "[::1", ""}) {
    EXPECT_FALSE(access.from_here({.host = host})) << host;
  }
  EXPECT_FALSE(access.from_here({.origin = "null", .host = "localhost"}));
}

}  // namespace
}  // namespace agentd::access
