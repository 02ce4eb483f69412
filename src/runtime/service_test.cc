#include "runtime/service.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

using a2a::TaskState;

constexpr const char* kRules = R"(
rules:
  - {when: {text: "^hang"}, reply: [{delay: 1h}]}
  - {when: {text: "^ask"}, reply: [{state: input_required, message: "Which?"}]}
)";

class ServiceTest : public CoreTest {
 protected:
  Service& service() { return life_->service; }
  void SetUp() override { begin({.rules = kRules}); }

  using Method = void (Service::*)(const Call&, const Json&, Reply);
  Answer call(Method method, const feed::Viewer& viewer, const Json& params) {
    auto answer = std::make_shared<std::optional<Result<Json>>>();
    (service().*method)({.caller = {.viewer = viewer}}, params, into(answer));
    return answer;
  }
  Json got(const Answer& answer) {
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    return (**answer).value();
  }
  Code code_of(const Answer& answer) {
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    return (**answer).error().code;
  }
  std::string hanging_task(const feed::Viewer& viewer = kAlice) {
    return got(send({.caller = {.viewer = viewer}}, message("hang"), {{"returnImmediately", true}}))["task"]["id"];
  }
};

TEST_F(ServiceTest, ATaskItsMessageAndItsKeyAreDurableTogether) {
  store_.set(Mood::kTakesItsTime);
  const Answer answer =
      send({.caller = {.viewer = kAlice}, .idempotency_key = "k"}, message("hang"), {{"returnImmediately", true}});
  run_turns();
  const store::Batch batch = store_.waiting();
  EXPECT_EQ(WatchedStore::rows_in<store::TaskRow>(batch).size(), 1U);
  EXPECT_EQ(WatchedStore::rows_in<store::ConversationRow>(batch).size(), 1U);
  EXPECT_EQ(WatchedStore::rows_in<store::MessageRow>(batch).size(), 1U);
  EXPECT_EQ(WatchedStore::rows_in<store::IdempotencyRow>(batch).size(), 1U);
  EXPECT_FALSE(answer->has_value());
  store_.set(Mood::kWorks);
  EXPECT_EQ(got(answer)["task"]["status"]["state"], "TASK_STATE_WORKING");
}

TEST_F(ServiceTest, NothingIsAcknowledgedWhileTheStoreRefusesAndNothingIsLost) {
  store_.set(Mood::kRefuses);
  const Call keyed{.caller = {.viewer = kAlice}, .idempotency_key = "k"};
  const Json words = message("hang");
  EXPECT_EQ(code_of(send(keyed, words, {{"returnImmediately", true}})), Code::kUnavailable);
  // Once it is known that the store refuses, no more work is taken.
  EXPECT_EQ(code_of(send({.caller = {.viewer = kAlice}}, message("be quick"))), Code::kUnavailable);
  EXPECT_EQ(life_->tasks.size(), 1U);
  const std::string id = live_task();
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return !life_->journal.refusing(); }));
  EXPECT_EQ(got(send(keyed, words, {{"returnImmediately", true}}))["task"]["id"], id);
  EXPECT_EQ(store_.tasks().value().size(), 1U);
  EXPECT_EQ(store_.idempotency(kAlice.principal, "k").value()->task, id);
}

TEST_F(ServiceTest, AKeyGivesTheSameTaskAgainAlsoToTheNextLife) {
  const Call keyed{.caller = {.viewer = kAlice}, .idempotency_key = "k"};
  const Json words = message("hello");
  const std::string id = got(send(keyed, words))["task"]["id"];
  EXPECT_EQ(got(send(keyed, words))["task"]["id"], id);
  EXPECT_NE(got(send({.caller = {.viewer = kBob}, .idempotency_key = "k"}, words))["task"]["id"], id);
  EXPECT_EQ(code_of(send(keyed, message("other"))), Code::kInvalidParams);
  begin({.rules = kRules});
  EXPECT_EQ(got(send(keyed, words))["task"]["id"], id);
  EXPECT_EQ(life_->tasks.size(), 2U);
  clock_.advance_ms(24LL * 3600 * 1000);
  EXPECT_NE(got(send(keyed, words))["task"]["id"], id);
}

TEST_F(ServiceTest, ACallerWaitsForTheEndUnlessItSaysOtherwise) {
  const Json ended = got(send({.caller = {.viewer = kAlice}}, message("hello"), {{"historyLength", 0}}))["task"];
  EXPECT_EQ(ended["status"]["state"], "TASK_STATE_COMPLETED");
  EXPECT_FALSE(ended.contains("history"));
  const Json asked = got(send({.caller = {.viewer = kAlice}}, message("ask")))["task"];
  EXPECT_EQ(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
  EXPECT_EQ(asked["status"]["message"]["parts"][0]["text"], "Which?");
}

TEST_F(ServiceTest, WhatIsNotYoursIsNotThere) {
  const std::string id = hanging_task();
  EXPECT_EQ(code_of(call(&Service::get_task, kBob, {{"id", id}})), Code::kTaskNotFound);
  EXPECT_EQ(code_of(call(&Service::cancel_task, kBob, {{"id", id}})), Code::kTaskNotFound);
  EXPECT_EQ(code_of(send({.caller = {.viewer = kBob}}, message("x", {{"taskId", id}}))), Code::kTaskNotFound);
  auto answer = std::make_shared<std::optional<Result<Json>>>();
  service().subscribe({.caller = {.viewer = kBob}}, {{"id", id}},
                      {.reply = into(answer), .stream = std::make_shared<Stream>()});
  EXPECT_EQ(code_of(answer), Code::kTaskNotFound);
  EXPECT_EQ(got(call(&Service::list_tasks, kBob, Json::object()))["totalSize"], 0);
  EXPECT_EQ(got(call(&Service::get_task, kAlice, {{"id", id}}))["id"], id);
  EXPECT_EQ(got(call(&Service::list_tasks, kAlice, Json::object()))["tasks"][0]["id"], id);
}

TEST_F(ServiceTest, CancellingAnswersWithTheCanceledTaskAndOnlyOnce) {
  const std::string turn = hanging_task();
  EXPECT_EQ(got(call(&Service::cancel_task, kAlice, {{"id", turn}}))["status"]["state"], "TASK_STATE_CANCELED");
  EXPECT_EQ(code_of(call(&Service::cancel_task, kAlice, {{"id", turn}})), Code::kTaskNotCancelable);
  const std::string asked = got(send({.caller = {.viewer = kAlice}}, message("ask")))["task"]["id"];
  EXPECT_EQ(got(call(&Service::cancel_task, kAlice, {{"id", asked}}))["status"]["state"], "TASK_STATE_CANCELED");
}

TEST_F(ServiceTest, ARunIsMadeWithItsTaskAndPushesEachStateOnce) {
  begin({.workflows = {"name: w\nsteps: {a: {exec: [sleep, \"1000\"]}}\n"}});
  auto answer = std::make_shared<std::optional<Result<Json>>>();
  auto sending = read_sending({{"message", message("run")}, {"configuration", {{"returnImmediately", true}}}});
  store_.set(Mood::kTakesItsTime);
  service().run_workflow({.caller = {.viewer = kAlice}}, std::move(sending.value()), "workflow.run", "w",
                         Json::object(), {.reply = into(answer)});
  run_turns();
  EXPECT_EQ(WatchedStore::rows_in<store::TaskRow>(store_.waiting()).size(), 1U);
  EXPECT_EQ(WatchedStore::rows_in<store::RunRow>(store_.waiting()).size(), 1U);
  store_.set(Mood::kWorks);
  const std::string id = got(answer)["task"]["id"];
  const auto tasks = pushed("task", kAlice);
  ASSERT_EQ(tasks.size(), 2U) << Json(tasks);
  EXPECT_EQ(tasks[0]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
  EXPECT_EQ(tasks[1]["task"]["status"]["state"], "TASK_STATE_WORKING");
  EXPECT_EQ(pushed("run", kAlice).size(), 1U);
  EXPECT_EQ(code_of(send({.caller = {.viewer = kAlice}}, message("x", {{"taskId", id}}))), Code::kUnsupportedOperation);
  EXPECT_EQ(got(call(&Service::cancel_task, kAlice, {{"id", id}}))["status"]["state"], "TASK_STATE_CANCELED");
}

TEST_F(ServiceTest, AMessageMustBelongToItsTask) {
  const std::string id = hanging_task();
  EXPECT_EQ(code_of(send({.caller = {.viewer = kAlice}}, message("x", {{"taskId", id}, {"contextId", "other"}}))),
            Code::kInvalidParams);
  const std::string ended = got(send({.caller = {.viewer = kAlice}}, message("hello")))["task"]["id"];
  EXPECT_EQ(code_of(send({.caller = {.viewer = kAlice}}, message("x", {{"taskId", ended}}))),
            Code::kUnsupportedOperation);
}

TEST_F(ServiceTest, ADrainingDaemonTakesNoMoreWork) {
  life_->instance.drain("SIGTERM");
  EXPECT_EQ(code_of(send({.caller = {.viewer = kAlice}}, message("hello"))), Code::kDraining);
  EXPECT_EQ(life_->tasks.size(), 0U);
}

TEST_F(ServiceTest, AStreamBeginsWithTheTaskAndEndsWithIt) {
  const auto stream = std::make_shared<Stream>();
  auto refusal = std::make_shared<std::optional<Result<Json>>>();
  const std::string id = hanging_task();
  service().subscribe({.caller = {.viewer = kAlice}}, {{"id", id}}, {.reply = into(refusal), .stream = stream});
  ASSERT_EQ(stream->events.size(), 1U);
  EXPECT_EQ(Json::parse(stream->events[0]->text)["task"]["id"], id);
  got(call(&Service::cancel_task, kAlice, {{"id", id}}));
  EXPECT_TRUE(stream->events.back()->last);
  EXPECT_FALSE(refusal->has_value());
  service().subscribe({.caller = {.viewer = kAlice}}, {{"id", id}}, {.reply = into(refusal), .stream = stream});
  EXPECT_EQ(code_of(refusal), Code::kUnsupportedOperation);
}

TEST_F(ServiceTest, ReadsAreBounded) {
  EXPECT_EQ(code_of(call(&Service::list_tasks, kAlice, {{"pageSize", 101}})), Code::kInvalidParams);
  EXPECT_EQ(code_of(call(&Service::list_tasks, kAlice, {{"pageSize", 0}})), Code::kInvalidParams);
  EXPECT_EQ(code_of(call(&Service::list_tasks, kAlice, {{"historyLength", -1}})), Code::kInvalidParams);
  EXPECT_EQ(code_of(call(&Service::get_task, kAlice, Json::object())), Code::kInvalidParams);
}

}  // namespace
}  // namespace agentd::runtime
