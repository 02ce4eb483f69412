#include "runtime/transcript.h"

#include <gtest/gtest.h>

namespace agentd::runtime {
namespace {

using Role = llm::ChatMessage::Role;

Json user(const std::string& task, const std::string& text) {
  return {{"role", "ROLE_USER"}, {"taskId", task}, {"parts", {{{"text", text}}}}};
}
Json agent(const std::string& task, const std::string& text, const std::vector<llm::ToolCall>& calls = {}) {
  return agent_row("chat", task, text, calls);
}
Json result(const std::string& task, const std::string& call, const std::string& text) {
  return result_row("chat", task, {.call = {.id = call, .name = "look"}, .text = text});
}
llm::ToolCall call(const std::string& id) { return {.id = id, .name = "look", .arguments = {{"at", id}}}; }

// Each message as one line.
std::vector<std::string> shown(const std::vector<llm::ChatMessage>& messages) {
  std::vector<std::string> out;
  for (const auto& message : messages) {
    std::string line = message.role == Role::kUser ? "user: " : message.role == Role::kTool ? "tool " : "agent: ";
    if (message.role == Role::kTool) line += message.call_id + ": ";
    line += message.text;
    for (const auto& wanted : message.calls) line += " [" + wanted.id + "]";
    out.push_back(line);
  }
  return out;
}

class TranscriptTest : public testing::Test {
 protected:
  void add(const Json& row) { transcript_.add(++number_, row); }

  Transcript transcript_{"t1"};
  std::uint64_t number_ = 0;
};

TEST_F(TranscriptTest, EachCallIsFollowedByItsResultWhateverCameBetween) {
  add(user("t1", "look"));
  add(agent("t1", "", {call("a"), call("b")}));
  add(result("t1", "b", "B"));
  add(user("t1", "and hurry"));
  EXPECT_EQ(transcript_.pending(), (std::vector{call("a")}));
  add(result("t1", "a", "A"));
  EXPECT_TRUE(transcript_.pending().empty());
  EXPECT_FALSE(transcript_.is_answered());
  EXPECT_EQ(shown(transcript_.messages()),
            (std::vector<std::string>{"user: look", "agent:  [a] [b]", "tool a: A", "tool b: B", "user: and hurry"}));
  add(agent("t1", "Done."));
  EXPECT_TRUE(transcript_.is_answered());
}

TEST_F(TranscriptTest, CallsOfOtherTasksWithoutAResultAreLeftOut) {
  add(user("t2", "other"));
  add(agent("t2", "I look.", {call("x")}));
  add(user("t1", "mine"));
  EXPECT_EQ(shown(transcript_.messages()), (std::vector<std::string>{"user: other", "agent: I look.", "user: mine"}));
  EXPECT_TRUE(transcript_.pending().empty());
}

TEST_F(TranscriptTest, TheSameCallIdMayComeAgain) {
  add(user("t1", "twice"));
  add(agent("t1", "", {call("a")}));
  add(result("t1", "a", "first"));
  add(agent("t1", "", {call("a")}));
  EXPECT_EQ(transcript_.pending().size(), 1U);
  add(result("t1", "a", "second"));
  EXPECT_TRUE(transcript_.pending().empty());
  EXPECT_EQ(shown(transcript_.messages()).back(), "tool a: second");
}

TEST_F(TranscriptTest, AnAnswerToAQuestionIsNotSaidTwice) {
  Json answer = user("t1", "blue");
  answer["metadata"] = {{"https://agentd.dev/a2a/gate", "gate-1"}};
  add(user("t1", "paint"));
  add(answer);
  EXPECT_EQ(shown(transcript_.messages()), (std::vector<std::string>{"user: paint"}));
}

TEST_F(TranscriptTest, WhatAPersonSaysIsNoSummaryWhateverItsMetadata) {
  Json message = user("t1", "mine");
  message["metadata"] = {{"https://agentd.dev/a2a/summary", {{"until", "all of it"}}}};
  add(message);
  EXPECT_EQ(shown(transcript_.messages()), (std::vector<std::string>{"user: mine"}));
}

TEST_F(TranscriptTest, ASummaryStandsForWhatWasBefore) {
  for (int i = 0; i < 10; ++i) {
    add(user("t0", "question " + std::to_string(i) + std::string(400, '.')));
    add(agent("t0", "answer " + std::to_string(i)));
  }
  add(user("t1", "now"));
  const std::uint64_t until = transcript_.oldest_to_keep(300);
  ASSERT_GT(until, 0U);
  EXPECT_EQ(until % 2, 0U) << "a turn is not cut in two";
  EXPECT_EQ(transcript_.messages_until(until).size(), until);
  add(summary_row("chat", "ten questions", until));
  const auto left = shown(transcript_.messages());
  EXPECT_EQ(left.front(), "user: What was said before, in short:\nten questions");
  EXPECT_EQ(left.size(), 21 - until + 1);
  EXPECT_EQ(left.back(), "user: now");
}

TEST_F(TranscriptTest, OldResultsAreMadeShorterBeforeNewOnes) {
  add(user("t1", "go"));
  for (const char* id : {"a", "b", "c"}) {
    add(agent("t1", "", {call(id)}));
    add(result("t1", id, std::string(4'000, *id)));
  }
  auto messages = transcript_.messages();
  Transcript::shorten(messages, Transcript::tokens_of(messages) - 500);
  EXPECT_LT(messages[2].text.size(), 500U);
  EXPECT_EQ(messages[4].text.size(), 4'000U);
  Transcript::shorten(messages, 0);
  EXPECT_EQ(messages.back().text.size(), 4'000U) << "the newest stay";
}

TEST_F(TranscriptTest, LongTextsAreCutWhenCuttingResultsIsNotEnough) {
  for (const char* task : {"t1", "t2", "t3"}) add(user(task, std::string(1U << 20U, 'x')));
  auto messages = transcript_.messages();
  Transcript::shorten(messages, 10'000, 0);
  EXPECT_LE(Transcript::tokens_of(messages), 10'000U);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_GT(messages[0].text.size(), 5'000U) << "each has its share";
}

TEST_F(TranscriptTest, TheOldestAreLeftOutWhenAllIsCut) {
  for (int i = 0; i < 100; ++i) {
    const std::string id = std::to_string(i);
    add(user(id, "ask " + std::string(300, '.')));
    add(agent(id, "", {call("c" + id)}));
    add(result(id, "c" + id, std::string(300, '.')));
    add(agent(id, "said"));
  }
  auto messages = transcript_.messages();
  Transcript::shorten(messages, 2'000);
  EXPECT_LE(Transcript::tokens_of(messages), 2'000U);
  EXPECT_GT(messages.size(), 30U) << "and no more of them than has to be";
  EXPECT_EQ(messages.front().role, llm::ChatMessage::Role::kUser) << "a call and its result leave together";
  EXPECT_EQ(messages.back().text, "said");
}

TEST_F(TranscriptTest, DataAndFilesAreToldAsText) {
  add({{"role", "ROLE_USER"},
       {"taskId", "t1"},
       {"parts",
        {{{"text", "see"}}, {{"data", {{"n", 1}}}}, {{"url", "https://x.example/a"}, {"mediaType", "image/png"}}}}});
  EXPECT_EQ(transcript_.messages().front().text, "see\n{\"n\":1}\n[file https://x.example/a image/png]");
}

}  // namespace
}  // namespace agentd::runtime
