#include "runtime/sign_in.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

using Poll = access::DeviceCodes::Poll;

class SignInTest : public CoreTest {
 protected:
  SignInTest() { start(true); }

  void start(bool persist, bool device_grant = true) {
    Setting setting;
    setting.config.a2a.device_grant.enabled = device_grant;
    setting.config.a2a.device_grant.token_ttl_ms = 1'000'000;
    setting.config.a2a.sessions_persist = persist;
    setting.config.a2a.principals.push_back({.id = "bob"});
    begin(setting);
    EXPECT_TRUE(sign_in().load());
    sign_in().on_ended([this] { ++ended; });
  }
  SignIn& sign_in() { return life_->sign_in; }
  access::Sessions& sessions() { return life_->sessions; }

  access::DeviceCodes::Asked ask(config::Role scope = config::Role::kUser) {
    return sign_in().ask({.client_id = "cli", .scope = scope, .peer = "p", .source = "s", .network = "n"});
  }
  // The token of somebody who was let in.
  std::string let_in(const std::string& name) {
    const auto asked = ask();
    EXPECT_TRUE(sign_in().approve({{"user_code", asked.user_code}, {"as", name}}, "operator", "args"));
    return sign_in().poll(asked.device_code, "cli").token;
  }
  std::string launch() { return sign_in().launch(sign_in().launch_code(kHere), kHere, "::1").value_or(""); }
  std::optional<access::Caller> caller(const std::string& token) { return sessions().find(token, clock_.wall_ms()); }
  // What the feed says of sign-ins: their `event`s, in order.
  std::vector<std::string> said() {
    std::vector<std::string> out;
    for (const Json& event : pushed("auth")) out.push_back(event["event"]);
    return out;
  }

  Json last_audited() {
    EXPECT_TRUE(run_until_durable());
    const auto newest = store_.audit(1).value();
    return newest.empty() ? Json() : Json::parse(newest.front().body);
  }

  const access::LaunchBinding kHere{.client_id = "cli", .origin = "http://127.0.0.1:8420"};
  int ended = 0;
};

using Said = std::vector<std::string>;

TEST_F(SignInTest, LetsADeviceInAndEndsItsSession) {
  const std::string token = let_in("ada");
  EXPECT_TRUE(token.starts_with(access::kTokenPrefix));
  const auto ada = caller(token);
  ASSERT_TRUE(ada);
  EXPECT_EQ(ada->viewer.principal, "user:ada");
  const std::string sid = sign_in().sessions()["sessions"][0]["sid"];
  EXPECT_EQ(ada->sid, sid);
  EXPECT_EQ(sign_in().revoke({{"sid", sid}}).result, Json({{"revoked", 1}}));
  EXPECT_TRUE(ada->is_revoked());
  EXPECT_FALSE(caller(token));
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(said(), (Said{"pending", "approved", "revoked"}));
}

TEST_F(SignInTest, EndsWhatItIsToldToAndNothingElse) {
  const std::string ada = let_in("ada"), again = let_in("ada"), bob = let_in("bob");
  sign_in().give_up(again);
  EXPECT_TRUE(caller(ada) && !caller(again) && caller(bob));
  sign_in().give_up("agentd_at_nonsense");
  EXPECT_EQ(sign_in().revoke({{"name", "ada"}}).result, Json({{"revoked", 1}}));
  EXPECT_TRUE(!caller(ada) && caller(bob));
  EXPECT_EQ(sign_in().revoke({{"all", true}}).result, Json({{"revoked", 1}}));
  EXPECT_EQ(sign_in().revoke({{"all", true}}).result, Json({{"revoked", 0}}));
  EXPECT_EQ(ended, 3);
}

TEST_F(SignInTest, RefusesToLetInAsSomebodyReservedOrWiderThanAsked) {
  const auto asked = ask();
  const auto approve = [&](Json args) {
    args["user_code"] = asked.user_code;
    return sign_in().approve(args, "operator", "args");
  };
  EXPECT_EQ(approve({{"as", "operator"}}).error().violations[0].field, "args.as");
  EXPECT_EQ(approve({{"as", "ada"}, {"scope", "operator"}}).error().violations[0].field, "args.scope");
  EXPECT_FALSE(sign_in().approve({{"user_code", "BCDF-GHJK"}, {"as", "ada"}}, "operator", "args"));
  EXPECT_EQ(sign_in().pending()["pending"].size(), 1U);
  EXPECT_TRUE(approve({{"as", "ada"}}));
  EXPECT_FALSE(approve({{"as", "ada"}}));
}

TEST_F(SignInTest, NarrowsAScopeAndSaysWhetherTheNameIsKnown) {
  const auto asked = ask(config::Role::kOperator);
  const auto approved =
      sign_in().approve({{"user_code", asked.user_code}, {"as", "bob"}, {"scope", "user"}}, "operator", "args");
  ASSERT_TRUE(approved);
  EXPECT_EQ(approved->result["approved"]["principal"], "user:bob");
  EXPECT_EQ(approved->result["approved"]["existing"], true);
  EXPECT_EQ(approved->result["approved"]["scope"], "user");
  EXPECT_FALSE(caller(sign_in().poll(asked.device_code, "cli").token)->viewer.is_operator);
}

TEST_F(SignInTest, DeniesOneOrAll) {
  const auto first = ask();
  ask();
  EXPECT_FALSE(sign_in().deny({{"user_code", "BCDF-GHJK"}}, "args"));
  EXPECT_EQ(sign_in().deny({{"user_code", first.user_code}}, "args").value().result, Json({{"denied", 1}}));
  EXPECT_EQ(sign_in().deny({{"all", true}}, "args").value().result, Json({{"denied", 1}}));
  EXPECT_EQ(sign_in().poll(first.device_code, "cli").poll, Poll::kDenied);
  EXPECT_EQ(said(), (Said{"pending", "pending", "denied", "denied"}));
}

TEST_F(SignInTest, SessionsOutliveTheDaemonButNotTheirTime) {
  const std::string token = let_in("ada");
  life_->journal.flush_now();
  start(true);
  ASSERT_TRUE(caller(token));
  EXPECT_EQ(caller(token)->viewer.principal, "user:ada");
  clock_.advance_ms(1'000'000);
  start(true);
  EXPECT_FALSE(caller(token));
  EXPECT_TRUE(sign_in().sessions()["sessions"].empty());
  EXPECT_EQ(last_audited()["action"], "auth.sessions.expire");
  EXPECT_EQ(last_audited()["target"]["principal"], "user:ada");
}

TEST_F(SignInTest, ARevokedSessionDoesNotComeBack) {
  const std::string token = let_in("ada");
  life_->journal.flush_now();
  static_cast<void>(sign_in().revoke({{"all", true}}));
  life_->journal.flush_now();
  start(true);
  EXPECT_FALSE(caller(token));
}

TEST_F(SignInTest, ARevocationReachesWhoHasNotComeForTheTokenYet) {
  const auto asked = ask();
  ASSERT_TRUE(sign_in().approve({{"user_code", asked.user_code}, {"as", "ada"}}, "operator", "args"));
  EXPECT_EQ(sign_in().revoke({{"name", "bob"}}).result, Json({{"revoked", 0}}));
  EXPECT_EQ(sign_in().revoke({{"name", "ada"}}).result, Json({{"revoked", 1}}));
  EXPECT_EQ(sign_in().poll(asked.device_code, "cli").poll, Poll::kDenied);
}

TEST_F(SignInTest, WhatIsNoLongerOfferedDoesNotComeBack) {
  const std::string token = let_in("ada");
  life_->journal.flush_now();
  start(false);
  life_->journal.flush_now();
  start(true);
  EXPECT_FALSE(caller(token));
}

TEST_F(SignInTest, KeepsNothingWhenToldSo) {
  start(false);
  const std::string token = let_in("ada");
  EXPECT_TRUE(caller(token));
  life_->journal.flush_now();
  start(false);
  EXPECT_FALSE(caller(token));
}

TEST_F(SignInTest, ALaunchIsASessionOfTheOperator) {
  const std::string token = launch();
  EXPECT_TRUE(token.starts_with(access::kTokenPrefix));
  const auto launched = caller(token);
  ASSERT_TRUE(launched && launched->viewer.is_operator);
  EXPECT_EQ(launched->viewer.principal, "operator");
  EXPECT_TRUE(launched->sid.starts_with("ls_"));
  EXPECT_EQ(pushed("auth"), std::vector<Json>{Json({{"event", "launch"},
                                                    {"client_id", "cli"},
                                                    {"scope", "operator"},
                                                    {"peer", "::1"},
                                                    {"sid", launched->sid}})});
  EXPECT_EQ(last_audited()["action"], "auth.launch");
  EXPECT_EQ(sign_in().sessions()["sessions"][0]["kind"], "launch");
  EXPECT_EQ(sign_in().revoke({{"sid", launched->sid}}).result, Json({{"revoked", 1}}));
  EXPECT_TRUE(launched->is_revoked());
  EXPECT_EQ(said(), (Said{"launch", "revoked"}));
}

TEST_F(SignInTest, ALaunchCodeThatIsNotGoodMakesNoSession) {
  const std::string code = sign_in().launch_code(kHere);
  EXPECT_FALSE(sign_in().launch(code, {.client_id = "cli", .origin = ""}, "::1"));
  EXPECT_FALSE(sign_in().launch(code, kHere, "::1"));
  EXPECT_TRUE(sign_in().sessions()["sessions"].empty());
  EXPECT_TRUE(said().empty());
}

TEST_F(SignInTest, ALaunchOutlivesTheDaemonWithoutDeviceSignIn) {
  start(true, false);
  const std::string token = launch();
  life_->journal.flush_now();
  start(true, false);
  EXPECT_TRUE(caller(token));
  clock_.advance_ms(SignIn::kLaunchTtlMs - 1);
  EXPECT_TRUE(caller(token));
  clock_.advance_ms(1);
  EXPECT_FALSE(caller(token));
}

}  // namespace
}  // namespace agentd::runtime
