#include "runtime/conversations.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

class ConversationsTest : public CoreTest {
 protected:
  Conversations& conversations() { return life_->conversations; }
  void SetUp() override { begin(); }

  std::string say(const feed::Viewer& who, const std::string& context) {
    Conversation& conversation = conversations().open(who.principal, context);
    conversations().add(conversation, message("hi"), true);
    return conversation.id;
  }
};

TEST_F(ConversationsTest, TwoCallersWhoSayTheSameContextHaveTwoConversations) {
  const std::string alice = say(kAlice, "chat1");
  const std::string bob = say(kBob, "chat1");
  EXPECT_NE(alice, bob);
  EXPECT_EQ(say(kAlice, "chat1"), alice);
  EXPECT_EQ(conversations().all().at(alice).messages, 2U);
  EXPECT_EQ(conversations().all().at(bob).messages, 1U);
  EXPECT_EQ(pushed("conversation", kAlice).size(), 2U);
  EXPECT_EQ(pushed("conversation", kBob).size(), 1U);
  EXPECT_EQ(pushed("conversation", kBob).front()["id"], bob);
}

TEST_F(ConversationsTest, OnlyTheOperatorsRootIsCalledRoot) {
  EXPECT_EQ(say(kOperator, "root"), "root");
  EXPECT_NE(say(kAlice, "root"), "root");
  EXPECT_EQ(pushed("conversation").front()["kind"], "root");
  EXPECT_EQ(pushed("conversation", kAlice).front()["kind"], "context");
}

TEST_F(ConversationsTest, AMintedContextKeepsItsNameForItsFirstOwnerAlone) {
  const std::string minted = "ctx-0123456789abcdef";
  EXPECT_EQ(say(kAlice, minted), minted);
  const std::string bob = say(kBob, minted);
  EXPECT_NE(bob, minted);
  EXPECT_EQ(conversations().all().at(bob).context, minted);
}

TEST_F(ConversationsTest, AnotherLifeGoesOnCounting) {
  const std::string id = say(kAlice, "chat1");
  say(kAlice, "chat1");
  ASSERT_TRUE(run_until_durable());
  const std::uint64_t tokens = conversations().all().at(id).est_tokens;
  begin();
  EXPECT_TRUE(pushed("").empty());
  EXPECT_EQ(say(kAlice, "chat1"), id);
  const Conversation& conversation = conversations().all().at(id);
  EXPECT_EQ(conversation.messages, 3U);
  EXPECT_EQ(conversation.turns, 3U);
  EXPECT_GT(conversation.est_tokens, tokens);
  ASSERT_TRUE(run_until_durable());
  const auto messages = store_.messages(id, 10, 1U << 20U).value();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages.back().number, 3);
}

TEST_F(ConversationsTest, TheOldestMakesRoomAndItsOwnerAloneIsTold) {
  begin({.conversations = {.keep_last = 2}});
  const std::string oldest = say(kAlice, "1");
  clock_.advance_ms(1);
  const std::string kept = say(kBob, "2");
  clock_.advance_ms(1);
  say(kBob, "3");
  EXPECT_FALSE(conversations().all().contains(oldest));
  EXPECT_TRUE(conversations().all().contains(kept));
  ASSERT_EQ(pushed("conversation.removed", kAlice).size(), 1U);
  EXPECT_EQ(pushed("conversation.removed", kAlice).front()["id"], oldest);
  EXPECT_TRUE(pushed("conversation.removed", kBob).empty());
  ASSERT_TRUE(run_until_durable());
  EXPECT_TRUE(store_.messages(oldest, 10, 1U << 20U).value().empty());
  EXPECT_EQ(store_.conversations().value().size(), 2U);
}

TEST_F(ConversationsTest, WhatSomebodyWorksInStaysPastTheRetention) {
  begin({.conversations = {.keep_last = 2, .ttl_ms = 1000}});
  const std::string at_work = say(kAlice, "1");
  conversations().on_retention([&](const Conversation& known) { return known.id == at_work; });
  clock_.advance_ms(1);
  const std::string next = say(kBob, "2");
  clock_.advance_ms(1);
  say(kBob, "3");
  EXPECT_TRUE(conversations().all().contains(at_work));
  EXPECT_FALSE(conversations().all().contains(next)) << "the next one makes room";
  clock_.advance_ms(1000);
  conversations().enforce_retention();
  EXPECT_EQ(conversations().all().size(), 1U);
  EXPECT_TRUE(conversations().all().contains(at_work));
}

TEST_F(ConversationsTest, WhatWasQuietForTooLongLeaves) {
  begin({.conversations = {.keep_last = 10, .ttl_ms = 1000}});
  const std::string quiet = say(kAlice, "1");
  const std::string busy = say(kAlice, "2");
  clock_.advance_ms(999);
  say(kAlice, "2");
  conversations().enforce_retention();
  EXPECT_TRUE(conversations().all().contains(quiet));
  clock_.advance_ms(1);
  conversations().enforce_retention();
  EXPECT_FALSE(conversations().all().contains(quiet));
  EXPECT_TRUE(conversations().all().contains(busy));
}

}  // namespace
}  // namespace agentd::runtime
