#include "access/access.h"

#include <gtest/gtest.h>

#include "access/limits.h"
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
  config::Snapshot with_client_ca;
  with_client_ca.a2a.tls.client_ca = "/ca.pem";
  EXPECT_FALSE(with(with_client_ca).identify({.loopback = true}));
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
  for (const char* wrong : {"Bearer", "Bearer\twrong", "Bearer ", "Bearer to", "Bearer toptop", "Bearer A"}) {
    const auto refused = access.identify({.authorization = wrong, .loopback = true});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().metadata.size(), 1U) << wrong;
  }
}

TEST_F(AccessTest, ACookieIsACredentialForThePagesOfTheDaemonAlone) {
  sessions.add({.sid = "ls_1",
                .token_hash = sha256_hex("agentd_at_t"),
                .name = {},
                .role = config::Role::kOperator,
                .expires_ms = clock.wall_ms() + 1'000});
  const Access access = with(with_rules());
  const std::string csrf = csrf_token("agentd_at_t");
  EXPECT_EQ(access.identify({.cookie = "agentd_at_t"})->sid, "ls_1");
  EXPECT_TRUE(access.identify({.cookie = "agentd_at_t", .csrf = csrf, .changes = true}));
  for (const auto& wrong : {std::optional<std::string_view>(), std::optional<std::string_view>(""),
                            std::optional<std::string_view>("agentd_at_t")}) {
    const auto refused = access.identify({.cookie = "agentd_at_t", .csrf = wrong, .changes = true});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
    EXPECT_EQ(refused.error().metadata.at(0).second, "X-CSRF-Token");
    EXPECT_FALSE(is_failure(refused.error()));
  }
  EXPECT_EQ(access.identify({.origin = "http://localhost:3000", .cookie = "agentd_at_t"}).error().metadata.size(), 0U);
  EXPECT_EQ(access.identify({.cookie = "agentd_at_t", .page = true}).error().metadata.size(), 0U);
  EXPECT_EQ(access.identify({.authorization = "Bearer a", .cookie = "agentd_at_t"})->viewer.principal, "user:alice");
  EXPECT_FALSE(access.identify({.authorization = "Basic a", .cookie = "agentd_at_t"}));
  clock.advance_ms(1'000);
  const auto over = access.identify({.cookie = "agentd_at_t", .csrf = csrf, .changes = true, .loopback = true});
  ASSERT_FALSE(over);
  EXPECT_TRUE(is_failure(over.error()));
}

TEST_F(AccessTest, ACertificateIsWhomTheFirstRuleThatMatchesNames) {
  const auto rule = [](const char* id, const char* san, const char* sub, bool any = false) {
    return config::PrincipalRule{.id = id, .role = config::Role::kUser, .san = san, .sub = sub, .any = any};
  };
  const auto named = [&](const config::Snapshot& config, const net::Certificate& certificate) {
    const auto caller = with(config).identify({.loopback = true, .certificate = &certificate});
    return caller ? caller->viewer.principal : std::to_string(static_cast<int>(caller.error().code));
  };
  const std::string denied = std::to_string(static_cast<int>(Code::kPermissionDenied));
  const net::Certificate ada{.cn = "ada", .sans = {"ada.example", "spiffe://team/ada"}};
  config::Snapshot config;
  EXPECT_EQ(named(config, ada), "operator") << "no rules exist";
  config.a2a.principals = {rule("", "spiffe://other/*", ""), rule("team", "spiffe://team/*", "")};
  EXPECT_EQ(named(config, ada), "user:team");
  EXPECT_EQ(named(config, {.cn = "spiffe://team/x"}), "user:team") << "a CN is a name too";
  EXPECT_EQ(named(config, {.cn = "eve", .sans = {"eve.example"}}), denied);
  EXPECT_EQ(named(config, {}), denied) << "a rule for a name does not match none";
  config.a2a.principals = {rule("", "", "ada")};
  EXPECT_EQ(named(config, ada), "user:cn=ada");
  EXPECT_EQ(named(config, {.cn = "", .sans = {"ada"}}), denied) << "sub is the CN alone";
  config.a2a.principals = {rule("", "*.example", "")};
  EXPECT_EQ(named(config, ada), "user:san=ada.example");
  config.a2a.principals = {rule("first", "", "", true), rule("team", "spiffe://team/*", "")};
  EXPECT_EQ(named(config, ada), "user:first");
  config.a2a.principals = {rule("team", "*", "")};
  EXPECT_FALSE(with(config).identify({.loopback = true})) << "and without a certificate it is nobody";
}

TEST_F(AccessTest, AUnixPeerIsTheOperatorWhateverItPresents) {
  EXPECT_TRUE(with(with_rules()).identify({.unix_socket = true})->viewer.is_operator);
  EXPECT_TRUE(with(with_rules()).identify({.authorization = "Bearer wrong", .unix_socket = true})->viewer.is_operator);
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

TEST_F(AccessTest, ARuleBindsTheSessionsOfItsPrincipalToo) {
  config::Snapshot config;
  config.a2a.principals.push_back({.id = "ada", .role = config::Role::kUser, .grants = {"workflow.run:none"}});
  config.a2a.principals.back().rate = Rate{.burst = 1, .per_ms = 60'000};
  const std::string token = std::string(kTokenPrefix) + "0123";
  const std::string header = "Bearer " + token;
  sessions.add({.sid = "ds_1", .token_hash = sha256_hex(token), .name = "ada", .expires_ms = clock.wall_ms() + 1'000});
  const auto caller = with(config).identify({.authorization = header});
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->rate, config.a2a.principals.back().rate);
  EXPECT_FALSE(may_run_workflow(*caller, "report"));
}

TEST_F(AccessTest, NobodyIsOperatorByChanceWhereOthersComeByAName) {
  config::Snapshot config;
  config.a2a.url = "https://agent.example";
  EXPECT_FALSE(with(config).identify({.loopback = true}));
  config.a2a.url = "http://localhost:8420";
  EXPECT_TRUE(with(config).identify({.loopback = true}));
  EXPECT_FALSE(with(config).identify({.page = true, .loopback = true}));
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
