#include "access/live_access.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace agentd::access {
namespace {

using config::Role;

class LiveAccessTest : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<const Access> rules(std::vector<config::PrincipalRule> principals) const {
    config::Snapshot config;
    config.a2a.principals = std::move(principals);
    return std::make_shared<const Access>(config, sessions, clock);
  }
  static config::PrincipalRule bearer(const char* id, Role role, const char* token) {
    return {.id = id, .role = role, .bearer = config::Secret{.value = token, .source = "env T"}};
  }
  static config::PrincipalRule san(const char* id, const char* san) {
    return {.id = id, .role = Role::kUser, .bearer = {}, .san = san};
  }

  ManualClock clock;
  Sessions sessions;
};

TEST_F(LiveAccessTest, WhoIsNoLongerLetInIsRevokedAndTheOthersStay) {
  LiveAccess access(rules({bearer("alice", Role::kUser, "a"), bearer("bob", Role::kUser, "b")}));
  const Caller alice = *access.identify({.authorization = "Bearer a"});
  const Caller bob = *access.identify({.authorization = "Bearer b"});
  EXPECT_TRUE(access.replace(rules({bearer("bob", Role::kUser, "b")})));
  EXPECT_TRUE(alice.is_revoked());
  EXPECT_FALSE(bob.is_revoked());
  EXPECT_FALSE(access.identify({.authorization = "Bearer a"}));
  EXPECT_FALSE(access.identify({.authorization = "Bearer b"})->is_revoked());
}

TEST_F(LiveAccessTest, AnotherRoleOrAnotherNameIsAnotherCaller) {
  for (const auto& now : {bearer("alice", Role::kAgent, "a"), bearer("carol", Role::kUser, "a")}) {
    LiveAccess access(rules({bearer("alice", Role::kUser, "a")}));
    const Caller before = *access.identify({.authorization = "Bearer a"});
    EXPECT_TRUE(access.replace(rules({now})));
    EXPECT_TRUE(before.is_revoked());
    const Caller after = *access.identify({.authorization = "Bearer a"});
    EXPECT_FALSE(after.is_revoked());
    EXPECT_EQ(after.role, now.role);
  }
}

TEST_F(LiveAccessTest, WhatChangesNothingForACallerRevokesNobody) {
  LiveAccess access(rules({bearer("alice", Role::kUser, "a")}));
  const Caller alice = *access.identify({.authorization = "Bearer a"});
  auto granted = bearer("alice", Role::kUser, "a");
  granted.grants = {"workflow.*"};
  EXPECT_FALSE(access.replace(rules({san("host", "*.example"), granted})));
  EXPECT_FALSE(alice.is_revoked());
  EXPECT_NE(access.identify({.authorization = "Bearer a"})->grants, nullptr);
}

TEST_F(LiveAccessTest, AnOperatorNowMayGoOnAndIsRevokedWhenItIsOneNoMore) {
  LiveAccess access(rules({bearer("alice", Role::kUser, "a")}));
  const Caller user = *access.identify({.authorization = "Bearer a"});
  EXPECT_FALSE(access.replace(rules({bearer("alice", Role::kOperator, "a")})));
  const Caller above = *access.identify({.authorization = "Bearer a"});
  EXPECT_TRUE(above.viewer.is_operator);
  EXPECT_FALSE(user.is_revoked());
  EXPECT_TRUE(access.replace(rules({bearer("alice", Role::kUser, "a")})));
  EXPECT_TRUE(above.is_revoked());
}

TEST_F(LiveAccessTest, ACertificateIsLookedAtAgain) {
  const net::Certificate kitchen{.cn = "kitchen", .sans = {"kitchen.example"}};
  const net::Certificate cellar{.cn = "cellar", .sans = {"cellar.example"}};
  LiveAccess access(rules({san("hosts", "*.example")}));
  const Caller first = *access.identify({.certificate = &kitchen});
  const Caller second = *access.identify({.certificate = &cellar});
  EXPECT_TRUE(access.replace(rules({san("other", "cellar.*"), san("hosts", "*.example")})));
  EXPECT_FALSE(first.is_revoked());
  EXPECT_TRUE(second.is_revoked());
}

TEST_F(LiveAccessTest, TheImplicitOperatorIsRevokedByTheFirstRule) {
  LiveAccess access(rules({}));
  const Caller local = *access.identify({.loopback = true});
  EXPECT_TRUE(local.viewer.is_operator);
  const Caller socket = *access.identify({.unix_socket = true});
  EXPECT_TRUE(access.replace(rules({bearer("alice", Role::kUser, "a")})));
  EXPECT_TRUE(local.is_revoked());
  EXPECT_FALSE(socket.is_revoked());
}

TEST_F(LiveAccessTest, ASessionStandsOnItself) {
  const std::string token = std::string(kTokenPrefix) + "x";
  sessions.add({.sid = "ds_1", .token_hash = sha256_hex(token), .name = "dora", .expires_ms = clock.wall_ms() + 1000});
  LiveAccess access(rules({bearer("alice", Role::kUser, "a")}));
  const std::string shown = "Bearer " + token;
  const Caller dora = *access.identify({.authorization = shown});
  EXPECT_FALSE(access.replace(rules({})));
  EXPECT_FALSE(dora.is_revoked());
  sessions.end([](const Session&) { return true; });
  EXPECT_TRUE(dora.is_revoked());
}

}  // namespace
}  // namespace agentd::access
