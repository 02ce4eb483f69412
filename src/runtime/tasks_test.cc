#include "runtime/tasks.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

using Ids = std::vector<std::string>;
using a2a::TaskState;

class TasksTest : public CoreTest {
 protected:
  Tasks& tasks() { return life_->tasks; }
  void SetUp() override { begin(); }

  Task& create(const std::string& id, const feed::Viewer& owner = kAlice) {
    return tasks().create({.id = id, .principal = owner.principal, .context = "c", .link = {"turn", "c"}});
  }
  void complete(const std::string& id) { tasks().set_state(*tasks().working(id), TaskState::kCompleted); }
  TaskPage list(const TaskQuery& query, const feed::Viewer& viewer = kOperator) {
    return tasks().list(viewer, query).value();
  }
  static Ids ids(const TaskPage& page) {
    Ids out;
    for (const auto& task : page.tasks) out.push_back(task->id);
    return out;
  }
  static Json artifact(const std::string& text) { return {{"artifactId", "a"}, {"parts", {{{"text", text}}}}}; }
};

TEST_F(TasksTest, EveryChangeIsPushedOnceAndToWhoMaySeeIt) {
  Task& task = create("t");
  tasks().set_state(task, TaskState::kWorking);
  tasks().put_artifact(task, artifact("x"));
  tasks().add_message(task, message("more"));
  complete("t");
  const auto seen = pushed("task", kAlice);
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.front()["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
  EXPECT_EQ(seen.back()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
  EXPECT_EQ(seen.back()["task"]["artifacts"].size(), 1U);
  EXPECT_EQ(pushed("task").size(), 5U);
  EXPECT_TRUE(pushed("task", kBob).empty());
}

TEST_F(TasksTest, NotYoursAndUnknownAreOneAnswer) {
  create("t");
  EXPECT_TRUE(tasks().find(kAlice, "t").has_value());
  EXPECT_TRUE(tasks().find(kOperator, "t").has_value());
  const auto foreign = tasks().find(kBob, "t");
  const auto unknown = tasks().find(kBob, "u");
  ASSERT_FALSE(foreign || unknown);
  EXPECT_EQ(foreign.error().code, Code::kTaskNotFound);
  EXPECT_EQ(unknown.error().code, Code::kTaskNotFound);
  EXPECT_EQ(foreign.error().message, "there is no task \"t\" that you may see");
}

TEST_F(TasksTest, WhoWaitsIsAnsweredOnceTheEndIsDurable) {
  store_.set(Mood::kTakesItsTime);
  create("t");
  std::optional<TaskState> settled;
  tasks().when_settled("t", [&](auto task) { settled = task.value()->state; });
  run_turns();
  complete("t");
  run_turns();
  EXPECT_FALSE(settled);
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return settled.has_value(); }));
  EXPECT_EQ(settled, TaskState::kCompleted);
}

TEST_F(TasksTest, WhoWaitsIsAnsweredWhenTheTaskAsks) {
  std::optional<TaskState> settled;
  tasks().set_state(create("t"), TaskState::kInputRequired);
  tasks().when_settled("t", [&](auto task) { settled = task.value()->state; });
  EXPECT_FALSE(settled);
  ASSERT_TRUE(run_until([&] { return settled.has_value(); }));
  EXPECT_EQ(settled, TaskState::kInputRequired);
}

TEST_F(TasksTest, ARefusedEndIsToldAndItsRowComesAgain) {
  store_.set(Mood::kRefuses);
  create("t");
  Code code = Code::kInternal;
  tasks().when_settled("t", [&](auto task) { code = task.error().code; });
  complete("t");
  run_turns();
  EXPECT_EQ(code, Code::kUnavailable);
  EXPECT_FALSE(store_.task("t").value().has_value());
  EXPECT_EQ(task("t")->state, TaskState::kCompleted);
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(store_.task("t").value()->state, "TASK_STATE_COMPLETED");
  EXPECT_EQ(task("t")->state, TaskState::kCompleted);
}

TEST_F(TasksTest, AnEndedTaskLeavesMemoryWhenTheStoreHasIt) {
  std::weak_ptr<const Task> body;
  create("t");
  body = task("t");
  ASSERT_TRUE(run_until_durable());
  EXPECT_FALSE(body.expired());
  store_.set(Mood::kRefuses);
  complete("t");
  run_turns();
  EXPECT_FALSE(body.expired());
  store_.set(Mood::kWorks);
  EXPECT_TRUE(run_until([&] { return body.expired(); }));
  EXPECT_EQ(task("t")->states.size(), 2U);
}

TEST_F(TasksTest, RetentionKeepsATaskWhileSomebodyWaitsForIt) {
  begin({.tasks = {.keep_last = 0}});
  store_.set(Mood::kTakesItsTime);
  create("t");
  bool answered = false;
  tasks().when_settled("t", [&](auto task) { answered = task.has_value(); });
  complete("t");
  run_turns();
  tasks().enforce_retention();
  EXPECT_TRUE(task("t"));
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return answered; }));
  EXPECT_FALSE(task("t"));
  ASSERT_TRUE(run_until_durable());
  EXPECT_FALSE(store_.task("t").value().has_value());
}

TEST_F(TasksTest, RetentionDropsTheOldestAndTellsTheirOwnersAlone) {
  begin({.tasks = {.keep_last = 2}});
  for (const char* id : {"1", "2", "3"}) {
    create(id);
    complete(id);
    clock_.advance_ms(1);
  }
  create("live");
  ASSERT_TRUE(run_until([&] { return tasks().size() == 3; }));
  EXPECT_FALSE(task("1"));
  const auto removed = pushed("task.removed", kAlice);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed.front()["id"], "1");
  EXPECT_TRUE(pushed("task.removed", kBob).empty());
}

TEST_F(TasksTest, RetentionDropsWhatIsTooOldAndNotWhatStillWorks) {
  begin({.tasks = {.keep_last = 10, .ttl_ms = 1000}});
  create("ended");
  complete("ended");
  create("live");
  ASSERT_TRUE(run_until_durable());
  clock_.advance_ms(999);
  tasks().enforce_retention();
  EXPECT_TRUE(task("ended"));
  clock_.advance_ms(1);
  tasks().enforce_retention();
  EXPECT_FALSE(task("ended"));
  EXPECT_TRUE(task("live"));
}

TEST_F(TasksTest, AStreamHearsNothingBeforeItsTaskIsDurableAndEverythingThen) {
  store_.set(Mood::kRefuses);
  Task& task = create("t");
  const auto stream = std::make_shared<Stream>();
  tasks().listen("t", stream, false);
  tasks().set_state(task, TaskState::kWorking);
  run_turns();
  EXPECT_TRUE(stream->events.empty());
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return !stream->events.empty(); }));
  ASSERT_EQ(stream->events.size(), 2U);
  EXPECT_EQ(Json::parse(stream->events[0]->text)["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
  EXPECT_EQ(Json::parse(stream->events[1]->text)["statusUpdate"]["status"]["state"], "TASK_STATE_WORKING");
}

TEST_F(TasksTest, EveryStreamSeesTheTaskAndThenTheSameEventsToTheEnd) {
  Task& task = create("t");
  ASSERT_TRUE(run_until_durable());
  const auto first = std::make_shared<Stream>();
  tasks().listen("t", first, false);
  tasks().set_state(task, TaskState::kWorking);
  const auto second = std::make_shared<Stream>();
  tasks().listen("t", second, true);
  auto gone = std::make_shared<Stream>();
  tasks().listen("t", gone, false);
  gone.reset();
  tasks().put_artifact(task, artifact("x"));
  complete("t");

  ASSERT_EQ(first->events.size(), 4U);
  ASSERT_EQ(second->events.size(), 3U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first->events[i]->number, i + 1);
    EXPECT_EQ(first->events[i]->last, i == 3);
  }
  EXPECT_EQ(Json::parse(first->events[0]->text)["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
  EXPECT_FALSE(Json::parse(first->events[0]->text)["task"].contains("metadata"));
  EXPECT_EQ(Json::parse(second->events[0]->text)["task"]["status"]["state"], "TASK_STATE_WORKING");
  EXPECT_TRUE(Json::parse(second->events[0]->text)["task"].contains("metadata"));
  EXPECT_EQ(second->events[0]->number, 2U);
  EXPECT_EQ(first->events[2], second->events[1]);
  EXPECT_EQ(first->events[3], second->events[2]);
}

TEST_F(TasksTest, ChunksOfAnArtifactSayWhetherMoreFollows) {
  Task& task = create("t");
  ASSERT_TRUE(run_until_durable());
  const auto stream = std::make_shared<Stream>();
  tasks().listen("t", stream, false);
  tasks().put_artifact(task, artifact("x"), false, true);
  tasks().put_artifact(task, artifact("y"), true);
  ASSERT_EQ(stream->events.size(), 3U);
  const Json first = Json::parse(stream->events[1]->text)["artifactUpdate"];
  const Json second = Json::parse(stream->events[2]->text)["artifactUpdate"];
  EXPECT_FALSE(first.contains("append"));
  EXPECT_EQ(first["lastChunk"], false);
  EXPECT_EQ(second["append"], true);
  EXPECT_EQ(second["lastChunk"], true);
  EXPECT_EQ(task.artifacts[0]["parts"].size(), 2U);
}

TEST_F(TasksTest, PagesHoldWhatWasThereAtTheFirstAlthoughTheClockStandsStill) {
  for (const char* id : {"a", "b", "c", "d"}) create(id);
  const TaskPage first = list({.page_size = 2});
  EXPECT_EQ(ids(first), (Ids{"a", "b"}));
  EXPECT_EQ(first.total, 4U);
  complete("d");
  create("late");
  const TaskPage second = list({.page_size = 2, .page_token = first.next_token});
  EXPECT_EQ(ids(second), (Ids{"c", "d"}));
  EXPECT_EQ(second.total, 4U);
  EXPECT_EQ(second.next_token, "");
  EXPECT_EQ(ids(list({})), (Ids{"d", "late", "a", "b", "c"}));
}

TEST_F(TasksTest, PagesStayWholeWhenTheClockGoesBack) {
  for (const char* id : {"a", "b", "c"}) create(id);
  const TaskPage first = list({.page_size = 1});
  clock_.set_wall_ms(clock_.wall_ms() - 60'000);
  complete("c");
  create("late");
  const TaskPage second = list({.page_size = 5, .page_token = first.next_token});
  EXPECT_EQ(ids(second), (Ids{"b", "c"}));
}

TEST_F(TasksTest, AListHoldsOnlyWhatTheViewerMaySeeAndAskedFor) {
  create("alice");
  create("bob", kBob);
  create("ended");
  complete("ended");
  EXPECT_EQ(ids(list({}, kAlice)), (Ids{"alice", "ended"}));
  EXPECT_EQ(ids(list({.state = TaskState::kCompleted}, kAlice)), Ids{"ended"});
  EXPECT_EQ(ids(list({.state = TaskState::kCompleted}, kBob)), Ids{});
  EXPECT_EQ(ids(list({.context = "other"}, kAlice)), Ids{});
  const auto bad = tasks().list(kAlice, {.page_token = "nonsense"});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalidParams);
  EXPECT_EQ(bad.error().violations.front().field, "params.pageToken");
}

TEST_F(TasksTest, AnotherLifeKnowsAllOfThemAndPushesNothing) {
  Task& task = create("live");
  tasks().put_artifact(task, artifact("x"));
  tasks().set_state(task, TaskState::kInputRequired, agent_message(task, "which?"));
  const std::uint64_t events = task.events;
  const Json live = task_json(task);
  create("ended", kBob);
  complete("ended");
  ASSERT_TRUE(run_until_durable());
  begin();
  EXPECT_TRUE(pushed("").empty());
  EXPECT_EQ(task_json(*this->task("live")), live);
  EXPECT_EQ(this->task("live")->events, events);
  EXPECT_EQ(tasks().live(), Ids{"live"});
  EXPECT_EQ(tasks().working("ended"), nullptr);
  EXPECT_EQ(this->task("ended", kBob)->state, TaskState::kCompleted);
  EXPECT_FALSE(this->task("ended", kAlice));
}

}  // namespace
}  // namespace agentd::runtime
