#include "runtime/subagent_worker.h"

#include <gtest/gtest.h>

namespace agentd::runtime {
namespace {

Json completion(const std::string& text, Json calls = Json::array()) {
  return {{"completion", {{"text", text}, {"calls", std::move(calls)}}}};
}
Json call(const std::string& id) { return {{"id", id}, {"name", "look"}, {"arguments", {{"at", id}}}}; }
Json result(const std::string& id) { return {{"result", {{"id", id}, {"text", "found " + id}, {"isError", false}}}}; }

class SubagentWorkerTest : public testing::Test {
 protected:
  std::vector<Json> take(const Json& line) { return worker_.take(line).value(); }

  SubagentWorker worker_;
};

TEST_F(SubagentWorkerTest, WorksInRoundsUntilItHasAnAnswer) {
  auto out = take({{"begin", {{"instruction", "Find it."}}}});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0]["ask"]["messages"], Json::parse(R"([{"role":"user","text":"Find it."}])"));
  out = take(completion("I look.", {call("a"), call("b")}));
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1]["use"]["id"], "b");
  EXPECT_TRUE(take(result("b")).empty());
  out = take(result("a"));
  const Json messages = out.at(0)["ask"]["messages"];
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[2]["id"], "a") << "the results stand in the order of the calls";
  out = take(completion("It is here."));
  EXPECT_EQ(out.at(0), Json({{"done", {{"text", "It is here."}, {"heard", 1}}}}));
}

TEST_F(SubagentWorkerTest, WhatIsSaidMeanwhileIsItsNextRound) {
  static_cast<void>(take({{"begin", {{"instruction", "Find it."}}}}));
  EXPECT_TRUE(take({{"say", {{"text", "Hurry."}}}}).empty());
  auto out = take(completion("Here."));
  EXPECT_EQ(out.at(0)["ask"]["messages"].back()["text"], "Hurry.");
  EXPECT_EQ(take(completion("Done.")).at(0)["done"]["heard"], 2) << "so that nobody takes it for an answer to less";
  out = take({{"say", {{"text", "And now?"}}}});
  EXPECT_EQ(out.at(0)["ask"]["messages"].size(), 5U) << "warm: it goes on with the same conversation";
}

TEST_F(SubagentWorkerTest, WhatItAsksStaysWithinALine) {
  static_cast<void>(take({{"begin", {{"instruction", "Find it."}}}}));
  std::vector<Json> out;
  for (int i = 0; i < 200; ++i) {
    const std::string id = std::to_string(i);
    static_cast<void>(take(completion("", Json::array({call(id)}))));
    out = take({{"result", {{"id", id}, {"text", std::string(32U << 10U, '\x01')}, {"isError", false}}}});
  }
  const std::string line = dump_json(out.at(0));
  EXPECT_LT(line.size(), 16U << 20U) << "even where each byte is escaped as six";
  EXPECT_EQ(out.at(0)["ask"]["messages"][0]["text"], "Find it.");
  EXPECT_EQ(out.at(0)["ask"]["messages"].size(), 401U) << "what is old is cut, not left out";
}

TEST_F(SubagentWorkerTest, MessagesAreTheSameAfterTheLine) {
  const std::vector<llm::ChatMessage> messages = {
      {.text = "go"},
      {.role = llm::ChatMessage::Role::kAssistant, .text = "", .calls = {{.id = "a", .name = "look"}}},
      {.role = llm::ChatMessage::Role::kTool, .text = "no", .call_id = "a", .is_error = true}};
  EXPECT_EQ(messages_from_json(to_json(messages)), messages);
}

TEST_F(SubagentWorkerTest, ALineOfAnotherKindIsRefused) {
  for (const char* line : {"{}", "3", R"({"begin":{}})", R"({"completion":{"text":"x"}})", R"({"result":[]})"}) {
    EXPECT_FALSE(worker_.take(Json::parse(line)).has_value()) << line;
  }
}

}  // namespace
}  // namespace agentd::runtime
