#include "runtime/peer_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace agentd::runtime {
namespace {

PeerTask after(const std::vector<const char*>& responses) {
  PeerTask task;
  for (const char* response : responses) task.take(Json::parse(response));
  return task;
}

constexpr const char* kTask = R"({"task":{"id":"t1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}})";

TEST(PeerTask, PutsArtifactsTogetherAsTheyCome) {
  const PeerTask task = after(
      {kTask, R"({"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":"a","parts":[{"text":"void"}]}}})",
       R"({"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":"a","parts":[{"text":"Hel"}]},"append":false}})",
       R"({"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":"a","parts":[{"text":"lo"}]},"append":true}})",
       R"({"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"Bye."}]}}}})"});
  EXPECT_EQ(task.id(), "t1");
  EXPECT_TRUE(task.is_over());
  EXPECT_EQ(task.outcome().text, "Hello\n\nBye.");
  EXPECT_FALSE(task.outcome().is_error);
}

TEST(PeerTask, AQuestionIsSettledButNotOver) {
  const PeerTask task = after({kTask, R"({"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_INPUT_REQUIRED",)"
                                      R"("message":{"parts":[{"text":"Which?"}]}}}})"});
  EXPECT_TRUE(task.is_settled());
  EXPECT_FALSE(task.is_over());
  EXPECT_NE(task.outcome().text.find("Which?"), std::string::npos);
  EXPECT_NE(task.outcome().text.find("\"t1\""), std::string::npos);
}

TEST(PeerTask, AMessageIsAnAnswerAndAFailureAnError) {
  EXPECT_EQ(after({R"({"message":{"parts":[{"text":"42"}]}})"}).outcome().text, "42");
  const PeerTask failed =
      after({R"({"task":{"id":"t1","status":{"state":"TASK_STATE_FAILED","message":{"parts":[{"text":"No."}]}}}})"});
  EXPECT_TRUE(failed.outcome().is_error);
  EXPECT_NE(failed.outcome().text.find("No."), std::string::npos);
}

Json piece(const std::string& id, const std::string& text) {
  return {{"artifactUpdate",
           {{"taskId", "t1"}, {"artifact", {{"artifactId", id}, {"parts", {{{"text", text}}}}}}, {"append", true}}}};
}

TEST(PeerTask, HasABoundOverAllItsArtifacts) {
  PeerTask task = after({kTask});
  std::string euros;
  while (euros.size() < 1U << 20U) euros += "\u20AC";
  for (int i = 0; i < 6; ++i) task.take(piece(i % 2 == 0 ? "a" : "b", euros));
  const std::string text = task.outcome().text;
  EXPECT_LE(text.size(), (4U << 20U) + 300);
  EXPECT_GE(text.size(), (4U << 20U) - 300);
  EXPECT_NE(text.find("left out here"), std::string::npos);
  EXPECT_EQ(to_utf8(text), text) << "no character is cut in two";

  PeerTask many = after({kTask});
  for (int i = 0; i < 1'000; ++i) many.take(piece(std::to_string(i), "x"));
  EXPECT_EQ(std::ranges::count(many.outcome().text, 'x'), 256);
}

TEST(PeerTask, WhatHasAnotherShapeIsPassedOver) {
  const PeerTask task = after({"3", "null", R"({"task":7})", R"({"statusUpdate":{"status":{"state":5}}})",
                               R"({"artifactUpdate":{"artifact":{"artifactId":"a","parts":[{"text":5}]}}})",
                               R"({"message":{"parts":[7]}})", kTask});
  EXPECT_EQ(task.id(), "t1");
}

}  // namespace
}  // namespace agentd::runtime
