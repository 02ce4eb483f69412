#include "feed/kinds.h"

#include <gtest/gtest.h>

#include "feed/kind_table.h"
#include "schema/validator.h"

namespace agentd::feed {
namespace {

struct Stranger {};
static_assert(!Payload<Stranger>, "a payload outside the table does not compile in a push");
static_assert(kKindCarrying<StepStart> == Kind::kStep && kKindCarrying<StepDone> == Kind::kStep);

TEST(Kinds, HaveTheNamesAndAudiencesOfTheSpecification) {
  const std::vector<std::pair<std::string, Audience>> expected = {{"task", Audience::kOwner},
                                                                  {"task.removed", Audience::kOwner},
                                                                  {"run", Audience::kOwner},
                                                                  {"run.removed", Audience::kOwner},
                                                                  {"step", Audience::kOperator},
                                                                  {"conversation", Audience::kOwner},
                                                                  {"conversation.removed", Audience::kOwner},
                                                                  {"subagent", Audience::kOperator},
                                                                  {"subagent.removed", Audience::kOperator},
                                                                  {"child", Audience::kOperator},
                                                                  {"child.removed", Audience::kOperator},
                                                                  {"activity", Audience::kOwner},
                                                                  {"activity.removed", Audience::kOwner},
                                                                  {"status", Audience::kOperator},
                                                                  {"lifecycle", Audience::kAll},
                                                                  {"config", Audience::kAll},
                                                                  {"audit", Audience::kOperator},
                                                                  {"auth", Audience::kOperator}};
  ASSERT_EQ(expected.size(), kKindCount);
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    EXPECT_EQ(kind_name(kind), expected[i].first);
    EXPECT_EQ(audience(kind), expected[i].second) << expected[i].first;
    EXPECT_EQ(find_kind(expected[i].first), kind);
  }
  EXPECT_EQ(find_kind("tasks"), std::nullopt);
}

TEST(Kinds, MayGoNoWiderThanTheirAudience) {
  EXPECT_TRUE(within(Audience::kAll, Visibility::all()));
  EXPECT_FALSE(within(Audience::kOwner, Visibility::all()));
  EXPECT_TRUE(within(Audience::kOwner, Visibility::owner("user:a")));
  EXPECT_FALSE(within(Audience::kOperator, Visibility::owner("user:a")));
  EXPECT_TRUE(within(Audience::kOperator, Visibility::owner("")));  // nobody's is the operator's
}

TEST(KindSet, ParsesACommaListOfNames) {
  KindSet expected;
  expected.insert(Kind::kTask);
  expected.insert(Kind::kRunRemoved);
  EXPECT_EQ(KindSet::parse("task, run.removed,,task").value(), expected);
  EXPECT_EQ(expected.names(), (std::vector<std::string>{"task", "run.removed"}));
  EXPECT_EQ(KindSet::parse("").value(), KindSet::all());
  EXPECT_EQ(KindSet::parse(" , ").value(), KindSet::all());
}

TEST(KindSet, NamesTheUnknownKindAndTheNearest) {
  const auto error = KindSet::parse("task,converstion").error();
  EXPECT_EQ(error.code, Code::kInvalidParams);
  EXPECT_EQ(error.message, R"(unknown kind "converstion"; did you mean "conversation"?)");
  EXPECT_EQ(KindSet::parse("run\n").error().message, R"(unknown kind "run\n"; did you mean "run"?)");
  EXPECT_TRUE(KindSet::parse("zebra").error().message.starts_with(R"(unknown kind "zebra"; the kinds are task, )"));
}

TEST(KindsFor, AnOperatorCanGetAllButAuditWhileIntrospectionIsOff) {
  const Viewer boss{.is_operator = true, .principal = "user:boss"};
  EXPECT_EQ(kinds_for(boss, true), KindSet::all());
  EXPECT_EQ(kinds_for(boss, false).names().size(), kKindCount - 1);
  EXPECT_FALSE(kinds_for(boss, false).contains(Kind::kAudit));
}

TEST(KindsFor, AnotherCallerGetsWhatAnOwnerOrEverybodyMaySee) {
  EXPECT_EQ(kinds_for({.is_operator = false, .principal = "user:alice"}, true).names(),
            (std::vector<std::string>{"task", "task.removed", "run", "run.removed", "conversation",
                                      "conversation.removed", "activity", "activity.removed", "lifecycle", "config"}));
}

// Each near-miss differs from something valid in one thing.
TEST(KindSchemas, RefuseNearMisses) {
  const std::vector<std::pair<Kind, std::string>> misses = {
      {Kind::kTaskRemoved, R"({"id":"a","owner":"user:alice"})"},
      {Kind::kTaskRemoved, R"({})"},
      {Kind::kChildRemoved, R"({"id":12})"},
      {Kind::kStep, R"({"run":"r","step":"s","phase":"start","attempt":1})"},
      {Kind::kStep, R"({"run":"r","step":"s","kind":"exec","phase":"done","attempt":1})"},
      {Kind::kSubagent, R"({"handle":"h","mode":"sync","status":"running","tokens":-1,"error":null,"updated":1})"},
      {Kind::kSubagent, R"({"handle":"h","mode":"sync","status":"running","tokens":1,"updated":1})"},
      {Kind::kLifecycle, R"({"paused":true})"},
      {Kind::kLifecycle, R"({"paused":false,"reason":"x"})"},
      {Kind::kLifecycle, R"({"draining":false,"reason":"x"})"},
      {Kind::kConfig, R"({"paths":[],"source":"hand"})"},
      {Kind::kAudit, R"({"ts":1,"principal":null,"role":null,"action":"a","outcome":"ok"})"},
      {Kind::kAudit, R"({"ts":1,"principal":null,"role":null,"action":"a","target":1,"outcome":"ok","sid":null})"},
      {Kind::kAuth, R"({"event":"pending","client_id":"c","scope":"user"})"},
      {Kind::kAuth, R"({"event":"revoked","client_id":"c","scope":"user"})"},
      {Kind::kAuth, R"({"event":"launch","client_id":"c","scope":"user","sid":"s"})"},
      {Kind::kAuth, R"({"event":"revoked","client_id":"c","scope":"user","sid":"s","peer":null})"},
      {Kind::kTask, R"({"task":{"id":"t"}})"},
      {Kind::kTask, R"({"task":{"id":"t","status":{"state":"completed"}}})"},
      {Kind::kTask, R"({"task":{"id":"t","kind":"task","status":{"state":"TASK_STATE_WORKING"}}})"},
      {Kind::kTask, R"({"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"},
          "artifacts":[{"artifactId":"a","parts":[{"text":"x","url":"y"}]}]}})"},
      {Kind::kTask, R"({"task":{"id":"t","status":{"state":"TASK_STATE_WORKING",
          "message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}}})"}};
  for (const auto& [kind, data] : misses) {
    const auto validator = schema::compile(kind_schema(kind));
    ASSERT_TRUE(validator.has_value()) << validator.error().message;
    EXPECT_FALSE(validator->validate(Json::parse(data)).empty()) << kind_name(kind) << " " << data;
  }
}

}  // namespace
}  // namespace agentd::feed
