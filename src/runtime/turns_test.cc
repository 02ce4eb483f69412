#include "runtime/turns.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

using a2a::TaskState;

constexpr const char* kRules = R"(
rules:
  - {when: {text: "^slow"}, reply: [{delay: 40ms}, {text: "${text}!"}]}
  - {when: {text: "^hang"}, reply: [{text: "half"}, {delay: 1h}]}
  - {when: {text: "^ask"}, reply: [{state: input_required, message: "Which?"}]}
  - {when: {text: "^fail"}, reply: [{state: failed, message: "No."}]}
  - {when: {text: "^direct"}, reply: [{message: {parts: [{text: "Directly."}]}}]}
  - {when: {text: "^log"}, reply: [{artifact: {name: log, parts: [{text: "1"}], append: true}}, {artifact: {name: log, parts: [{text: "2"}], append: true}}, {delay: 40ms}]}
  - {when: {text: "^chunks"}, reply: [{chunks: {artifact: log, text: abcde, size: 2}}]}
  - {when: {text: "^tool"}, reply: [{tool: {name: search, delay: 1h}}]}
  - {when: {text: "^run"}, reply: [{workflow: {name: w}}]}
  - {reply: [{text: "${text}!"}]}
)";

class TurnsTest : public CoreTest {
 protected:
  void SetUp() override { begin({.rules = kRules}); }

  // Sends without waiting for the end; returns the task's id.
  std::string open(const std::string& text, const std::string& context = "chat") {
    const Answer answer =
        send({.caller = {.viewer = kAlice}}, message(text, {{"contextId", context}}), {{"returnImmediately", true}});
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    return (**answer).value()["task"]["id"];
  }
  Answer add(const std::string& id, const std::string& text) {
    return send({.caller = {.viewer = kAlice}}, message(text, {{"taskId", id}}));
  }
  bool run_until_ended(const std::string& id) {
    return run_until([&] { return has_ended(id); });
  }
  // The texts of one artifact of a task, one after the other.
  std::string text_of(const std::string& id, const std::string& artifact = "answer") const {
    std::string out;
    for (const Json& known : task(id)->artifacts) {
      if (known["artifactId"] != artifact) continue;
      for (const Json& part : known["parts"]) out += part["text"].get<std::string>() + " ";
    }
    return out;
  }
  const Conversation& conversation() const { return life_->conversations.all().begin()->second; }
};

TEST_F(TurnsTest, ATurnHasOneActivityWhileItWorks) {
  const std::string id = open("tool");
  const auto now = pushed("activity", kAlice);
  ASSERT_EQ(now.size(), 2U);
  EXPECT_EQ(now[0]["phase"], "thinking");
  EXPECT_EQ(now[1]["phase"], "tool");
  EXPECT_EQ(now[1]["tool"], "search");
  EXPECT_EQ(now[1]["task"], id);
  EXPECT_EQ(life_->turns.activities().size(), 1U);
  EXPECT_TRUE(pushed("activity", kBob).empty());
  life_->turns.cancel(*life_->tasks.working(id));
  ASSERT_EQ(pushed("activity.removed", kAlice).size(), 1U);
  EXPECT_EQ(pushed("activity.removed", kAlice)[0]["id"], now[0]["id"]);
  EXPECT_TRUE(pushed("activity.removed", kBob).empty());
  EXPECT_EQ(life_->turns.live(), 0U);
  EXPECT_EQ(task(id)->state, TaskState::kCanceled);
}

TEST_F(TurnsTest, MessagesThatComeMeanwhileAreTheNextRoundsInTheirOrder) {
  const std::string id = open("slow one");
  const Answer second = add(id, "two");
  const Answer third = add(id, "three");
  ASSERT_TRUE(run_until([&] { return second->has_value() && third->has_value(); }));
  EXPECT_EQ(text_of(id), "slow one! \n\ntwo! \n\nthree! ");
  EXPECT_EQ((**third).value()["task"]["metadata"]["https://agentd.dev/a2a/queued"], true);
  EXPECT_EQ((**third).value()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
  EXPECT_EQ(pushed("activity").back()["round"], 3);
  EXPECT_EQ(task(id)->history.size(), 3U);
  EXPECT_EQ(conversation().messages, 3U);
}

TEST_F(TurnsTest, AMessageAnswersWhatATaskHasAsked) {
  const std::string id = open("ask me");
  ASSERT_TRUE(run_until([&] { return task(id)->state == TaskState::kInputRequired; }));
  EXPECT_EQ(life_->turns.live(), 0U);
  const Answer answer = add(id, "this one");
  ASSERT_TRUE(run_until([&] { return answer->has_value(); }));
  EXPECT_FALSE((**answer).value()["task"].contains("metadata"));
  EXPECT_EQ(text_of(id), "this one! ");
  EXPECT_EQ(task(id)->state, TaskState::kCompleted);
}

TEST_F(TurnsTest, ARefusalEndsTheTaskWhateverIsQueued) {
  const std::string id = open("slow");
  add(id, "fail");
  add(id, "more");
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(task(id)->state, TaskState::kFailed);
  EXPECT_EQ(task(id)->status_message["parts"][0]["text"], "No.");
  EXPECT_EQ(text_of(id), "slow! ");
}

TEST_F(TurnsTest, AMessageInsteadOfATaskLeavesNone) {
  const Answer answer = send({.caller = {.viewer = kAlice}}, message("direct", {{"contextId", "chat"}}));
  ASSERT_TRUE(run_until([&] { return answer->has_value(); }));
  EXPECT_EQ((**answer).value()["message"]["parts"][0]["text"], "Directly.");
  EXPECT_EQ((**answer).value()["message"]["contextId"], "chat");
  EXPECT_EQ(life_->tasks.size(), 0U);
  EXPECT_EQ(conversation().messages, 2U);
  EXPECT_EQ(pushed("activity.removed").size(), 1U);
}

TEST_F(TurnsTest, AReplyThatIsAMessageEndsATaskThatIsThereAlready) {
  const std::string asked = open("ask", "1");
  ASSERT_TRUE(run_until([&] { return task(asked)->state == TaskState::kInputRequired; }));
  add(asked, "direct");
  ASSERT_TRUE(run_until_ended(asked));
  EXPECT_EQ(task(asked)->state, TaskState::kCompleted);
  EXPECT_EQ(task(asked)->status_message["parts"][0]["text"], "Directly.");
  const std::string working = open("slow", "2");
  add(working, "direct");
  add(working, "more");
  ASSERT_TRUE(run_until_ended(working));
  EXPECT_EQ(text_of(working), "slow! \n\nmore! ");
}

TEST_F(TurnsTest, ChunksAreOneArtifactInTheEnd) {
  const std::string id = open("chunks");
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(text_of(id, "log"), "ab cd e ");
}

TEST_F(TurnsTest, AWorkflowTakesTheTaskOver) {
  begin({.rules = kRules, .workflows = {"name: w\nsteps: {a: {finish: {output: 7}}}\n"}});
  const std::string id = open("run");
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(task(id)->link.kind, "run");
  EXPECT_EQ(task(id)->artifacts[0]["parts"][0]["data"], 7);
  EXPECT_FALSE(task(id)->artifacts[0].contains("extensions"));
  EXPECT_EQ(life_->turns.live(), 0U);
  EXPECT_EQ(pushed("run").front()["start"], "message");
}

TEST_F(TurnsTest, AWorkflowThatIsNotThereFailsTheTask) {
  const std::string id = open("run");
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(task(id)->state, TaskState::kFailed);
  EXPECT_EQ(task(id)->status_message["parts"][0]["text"], "there is no workflow \"w\" here");
}

TEST_F(TurnsTest, AfterACrashAMessageThatNobodyHadAnsweredIsAnsweredOnce) {
  const std::string id = open("hang");
  EXPECT_EQ(text_of(id), "half ");
  begin({.rules = "rules: [{reply: [{text: \"at last: ${text}\"}]}]"});
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(text_of(id), "at last: hang ");
  EXPECT_EQ(task(id)->history.size(), 1U);
  EXPECT_EQ(conversation().turns, 1U);
  EXPECT_EQ(conversation().messages, 1U);
  ASSERT_TRUE(run_until_durable());
  begin();
  EXPECT_EQ(life_->turns.live(), 0U);
  EXPECT_EQ(text_of(id), "at last: hang ");
}

TEST_F(TurnsTest, AfterACrashQueuedMessagesAreAnsweredInTheirOrder) {
  const std::string id = open("hang");
  add(id, "two");
  add(id, "three");
  ASSERT_TRUE(run_until_durable());
  begin({.rules = "rules: [{when: {turn: 1}, reply: [{text: first}]}, {when: {turn: 2}, reply: [{text: second}]}]"});
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_TRUE(text_of(id).starts_with("first \n\nsecond \n\nYou said: three"));
  EXPECT_EQ(conversation().messages, 3U);
}

TEST_F(TurnsTest, AfterACrashArtifactsAreReplacedAndNotAddedTo) {
  const std::string id = open("log");
  EXPECT_EQ(text_of(id, "log"), "1 2 ");
  ASSERT_TRUE(run_until_durable());
  begin({.rules = kRules});
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(text_of(id, "log"), "1 2 ");
}

TEST_F(TurnsTest, AfterACrashATaskThatWaitsForAnAnswerGoesOnWaiting) {
  const std::string id = open("ask");
  ASSERT_TRUE(run_until_durable());
  begin({.rules = kRules});
  EXPECT_EQ(life_->turns.live(), 0U);
  EXPECT_EQ(task(id)->state, TaskState::kInputRequired);
  add(id, "this");
  ASSERT_TRUE(run_until_ended(id));
  EXPECT_EQ(text_of(id), "this! ");
}

}  // namespace
}  // namespace agentd::runtime
