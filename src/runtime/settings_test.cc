#include "runtime/settings.h"

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

class SettingsTest : public CoreTest {
 protected:
  SettingsTest() : life_(begin()) {}
  Result<Done> set(const Json& value) {
    return life_.settings.set({{"path", "a2a.introspection.enabled"}, {"value", value}}, "args");
  }

  Life& life_;
};

TEST_F(SettingsTest, WhatIsSetHoldsUntilTheNextReload) {
  const config::Snapshot written = life_.settings.now();
  ASSERT_TRUE(set(true));
  EXPECT_TRUE(life_.feed.introspection());
  EXPECT_TRUE(life_.settings.now().a2a.introspection);
  life_.settings.reload(written, {"a2a.introspection.enabled"});
  EXPECT_FALSE(life_.feed.introspection());
  const auto events = pushed("config", kAlice);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], (Json{{"paths", {"a2a.introspection.enabled"}}, {"source", "admin.set"}}));
  EXPECT_EQ(events[1]["source"], "reload");
}

TEST_F(SettingsTest, SettingWhatIsSetAlreadyMovesNothing) {
  ASSERT_TRUE(set(false));
  EXPECT_TRUE(pushed("config").empty());
}

TEST_F(SettingsTest, TheApprovalOfToolsMovesToo) {
  for (const char* value : {"accept", "auto", "ask"}) {
    ASSERT_TRUE(life_.settings.set({{"path", "agent.approval"}, {"value", value}}, "args"));
  }
  EXPECT_EQ(life_.settings.now().agent.approval, config::Approval::kAsk);
  EXPECT_EQ(pushed("config").size(), 3U);
  EXPECT_EQ(pushed("config")[0]["paths"], Json::array({"agent.approval"}));
  const auto refused = life_.settings.set({{"path", "agent.approval"}, {"value", "never"}}, "args");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "args.value must be ask, auto or accept");
}

TEST_F(SettingsTest, AValueOfAnotherTypeIsRefusedByName) {
  const auto refused = set("yes");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().violations.front().field, "args.value");
  EXPECT_FALSE(life_.feed.introspection());
}

}  // namespace
}  // namespace agentd::runtime
