#include "cli/answer.h"

#include <gtest/gtest.h>

namespace agentd::cli {
namespace {

Json task(const char* state, const Json& artifacts = Json::array()) {
  return {{"task", {{"id", "t1"}, {"contextId", "root"}, {"status", {{"state", state}}}, {"artifacts", artifacts}}}};
}
Json artifact(const char* id, const std::vector<std::string>& texts) {
  Json parts = Json::array();
  for (const auto& text : texts) parts.push_back({{"text", text}});
  return {{"artifactId", id}, {"parts", parts}};
}
Json piece(const char* id, const char* text, bool append) {
  return {{"artifactUpdate", {{"taskId", "t1"}, {"artifact", artifact(id, {text})}, {"append", append}}}};
}

TEST(Answer, AGrowingArtifactIsShownPieceByPieceAndOnce) {
  Answer answer;
  EXPECT_EQ(answer.take(task("TASK_STATE_WORKING")).text, "");
  EXPECT_EQ(answer.take(piece("a", "one ", false)).text, "one ");
  EXPECT_EQ(answer.take(piece("a", "two", true)).text, "two");
  // After a cut the snapshot holds what was shown and a little more, its pieces perhaps merged.
  EXPECT_EQ(answer.take(task("TASK_STATE_WORKING", Json::array({artifact("a", {"one two three"})}))).text, " three");
  EXPECT_EQ(answer.take(piece("b", "other", false)).text, "\nother");
  EXPECT_EQ(
      answer.take(task("TASK_STATE_COMPLETED", {artifact("a", {"one two three"}), artifact("b", {"other"})})).text, "");
  EXPECT_EQ(answer.finish().text, "\n");
  EXPECT_EQ(answer.artifacts().size(), 2U);
}

TEST(Answer, PartsThatCameTogetherAreLinesOfTheirOwn) {
  Answer answer;
  EXPECT_EQ(answer.take(task("TASK_STATE_COMPLETED", Json::array({artifact("a", {"one", "two"})}))).text, "one\ntwo");
}

TEST(Answer, AReplacedArtifactIsShownAnew) {
  Answer answer;
  answer.take(piece("a", "draft", false));
  EXPECT_EQ(answer.take(piece("a", "final", false)).text, "\nfinal");
}

TEST(Answer, EachChangeOfStateIsNotedOnce) {
  Answer answer;
  EXPECT_EQ(answer.take(task("TASK_STATE_SUBMITTED")).notes,
            (std::vector<std::string>{"task t1 in root", "submitted"}));
  const Json asks = Json::parse(R"({"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_INPUT_REQUIRED",
    "message":{"parts":[{"text":"which branch?"}]}}}})");
  EXPECT_FALSE(answer.is_settled());
  EXPECT_EQ(answer.take(asks).notes, (std::vector<std::string>{"input required: which branch?"}));
  EXPECT_TRUE(answer.take(asks).notes.empty());
  EXPECT_TRUE(answer.is_settled());
}

TEST(Answer, WithoutArtifactsTheLastStatusMessageIsTheAnswer) {
  Answer answer;
  answer.take(Json::parse(
      R"({"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"42"}]}}}})"));
  EXPECT_EQ(answer.finish().text, "42\n");
}

TEST(Answer, AMessageIsAnAnswerAndDataIsIndented) {
  Answer answer;
  EXPECT_EQ(answer.take(Json::parse(R"({"message":{"parts":[{"text":"see"},{"data":{"a":1}}]}})")).text,
            "see\n{\n  \"a\": 1\n}\n");
  EXPECT_TRUE(answer.is_settled());
  EXPECT_EQ(answer.finish().text, "");
}

TEST(Answer, WhatIsNoTextIsSaid) {
  Answer answer;
  const auto shown = answer.take(Json::parse(
      R"({"artifactUpdate":{"artifact":{"artifactId":"a","name":"plot","parts":[
          {"raw":"AAAA","filename":"p.png","mediaType":"image/png"},{"url":"https://x/y"}]}}})"));
  EXPECT_EQ(shown.text, "");
  EXPECT_EQ(shown.notes,
            (std::vector<std::string>{"artifact plot holds p.png (image/png, about 3 bytes): --out DIR writes it",
                                      "artifact plot is at https://x/y"}));
}

TEST(Answer, NonsenseIsNothing) {
  Answer answer;
  for (const char* bad : {"null", "[]", "{}", R"({"task":7})", R"({"artifactUpdate":{}})",
                          R"({"artifactUpdate":{"artifact":{"parts":7}}})"}) {
    EXPECT_EQ(answer.take(Json::parse(bad)).text, "") << bad;
  }
  EXPECT_FALSE(answer.is_settled());
}

}  // namespace
}  // namespace agentd::cli
