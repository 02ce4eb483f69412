#include "access/sessions.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace agentd::access {
namespace {

Session session(const std::string& sid, const std::string& name, std::int64_t created_ms = 0) {
  return {.sid = sid,
          .token_hash = sha256_hex("token of " + sid),
          .name = name,
          .client_id = "cli",
          .approved_by = "operator",
          .created_ms = created_ms,
          .expires_ms = 1'000};
}

TEST(Sessions, EndOneOfTwoOfAName) {
  Sessions sessions;
  sessions.add(session("ds_1", "ada"));
  sessions.add(session("ds_2", "ada"));
  const auto first = sessions.find("token of ds_1", 0);
  const auto second = sessions.find("token of ds_2", 0);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->viewer.principal, second->viewer.principal);
  EXPECT_EQ(sessions.end([](const Session& one) { return one.sid == "ds_1"; }).size(), 1U);
  EXPECT_TRUE(first->is_revoked());
  EXPECT_FALSE(second->is_revoked());
  EXPECT_FALSE(sessions.find("token of ds_1", 0));
  EXPECT_TRUE(sessions.find("token of ds_2", 0));
}

TEST(Sessions, AreTheOperatorByTheirRole) {
  Sessions sessions;
  Session one = session("ds_1", "ada");
  one.role = config::Role::kOperator;
  sessions.add(one);
  const auto caller = sessions.find("token of ds_1", 0);
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->viewer.is_operator);
  EXPECT_EQ(caller->viewer.principal, "operator");
}

TEST(Sessions, ComeBackFromTheStore) {
  const Session one = session("ds_1", "ada", 7);
  const auto again = from_body("ds_1", to_body(one));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_json(*again), to_json(one));
  EXPECT_EQ(again->token_hash, one.token_hash);
  for (const char* body : {"", "{}", "[]", R"({"token_hash":1})"}) EXPECT_FALSE(from_body("ds_1", body)) << body;
}

TEST(Sessions, RememberTheirKindAndARowOfBeforeIsADevice) {
  Session one = session("ls_1", "");
  one.kind = SessionKind::kLaunch;
  one.role = config::Role::kOperator;
  const auto launched = from_body("ls_1", to_body(one));
  ASSERT_TRUE(launched);
  EXPECT_EQ(launched->kind, SessionKind::kLaunch);
  EXPECT_EQ(to_json(*launched)["kind"], "launch");
  EXPECT_EQ(to_json(*launched)["principal"], "operator");
  Json old = Json::parse(to_body(session("ds_1", "ada")));
  old.erase("kind");
  EXPECT_EQ(from_body("ds_1", dump_json(old))->kind, SessionKind::kDevice);
}

TEST(Sessions, ShowTheOldestFirstAndNoHash) {
  Sessions sessions;
  sessions.add(session("ds_2", "ada", 2));
  sessions.add(session("ds_1", "bob", 1));
  const auto all = sessions.all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].sid, "ds_1");
  EXPECT_EQ(dump_json(to_json(all[0])).find(all[0].token_hash), std::string::npos);
}

}  // namespace
}  // namespace agentd::access
