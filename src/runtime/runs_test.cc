#include "runtime/runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

using a2a::TaskState;
using workflow::RunStatus;

class RunsTest : public CoreTest {
 protected:
  Runs& runs() { return life_->runs; }

  // A run of Alice's, for a task of its own that has the same name.
  std::string start(const std::string& workflow, Json inputs = Json::object()) {
    const std::string id = fresh_run_id();
    life_->tasks.create(
        {.id = id, .principal = kAlice.principal, .context = "c", .link = {"run", id}, .command = "workflow.run"});
    return runs().start({.id = id,
                         .workflow = workflow,
                         .inputs = std::move(inputs),
                         .start = "command",
                         .principal = kAlice.principal,
                         .task = id});
  }
  RunFacts newest() {
    std::vector<RunFacts> seen;
    runs().newest(kOperator, 1, [&seen](const RunFacts& facts) { seen.push_back(facts); });
    EXPECT_EQ(seen.size(), 1U);
    return seen.empty() ? RunFacts{} : seen.front();
  }
  bool run_until_over() {
    return run_until([&] { return runs().live() == 0; }) && run_until_durable();
  }

  // A step that writes down that it runs, waits for the file `go`, and prints "done"; it does not mind SIGTERM.
  std::string waiting_step(const std::string& id) const {
    return fmt::format(
        "  {}: {{run: \"trap '' TERM; echo $AGENTD_ATTEMPT >> {}; until test -e {}; do sleep 0.005; done; "
        "echo done\"}}\n",
        id, path(id), path("go"));
  }
  void go() const { std::ofstream(path("go")) << "go"; }
  // What a waiting step wrote down.
  std::string written(const std::string& id) const {
    std::ifstream file(path(id));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool run_until_written(const std::string& id, const std::string& text) {
    return run_until([&] { return written(id) == text; });
  }
  // The status of a step in a batch; "" when it holds none.
  static std::string status_in(const store::Batch& batch, const std::string& step) {
    std::string out;
    for (const auto& row : WatchedStore::rows_in<store::StepRow>(batch)) {
      if (row.step == step) out = Json::parse(row.body)["status"];
    }
    return out;
  }
  // Events of one step, as "start" or the status it ended with.
  std::vector<std::string> told(const std::string& step) const {
    std::vector<std::string> out;
    for (const Json& event : pushed("step")) {
      if (event["step"] == step) out.push_back(event["phase"] == "start" ? "start" : event["status"]);
    }
    return out;
  }
};

using Told = std::vector<std::string>;

TEST_F(RunsTest, ARunCarriesItsOutputToItsTask) {
  begin({.workflows = {R"(
name: hello
inputs: {type: object, required: [who], properties: {who: {type: string}}}
steps:
  greet: {exec: [echo, "hello ${{ .inputs.who }}"]}
  end: {needs: [greet], finish: {output: {said: "${{ .steps.greet.output }}"}}}
)"}});
  const std::string id = start("hello", {{"who", "you"}});
  EXPECT_EQ(task(id)->state, TaskState::kWorking);
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kCompleted);
  const auto ended = task(id);
  EXPECT_EQ(ended->state, TaskState::kCompleted);
  ASSERT_EQ(ended->artifacts.size(), 1U);
  EXPECT_EQ(ended->artifacts[0]["artifactId"], id + ".result");
  EXPECT_EQ(ended->artifacts[0]["parts"][0]["data"], Json({{"said", "hello you"}}));
  EXPECT_EQ(pushed("run", kAlice).back()["status"], "completed");
  EXPECT_TRUE(pushed("run", kBob).empty());
}

TEST_F(RunsTest, AFailedStepFailsTheTaskAndSaysWhy) {
  begin(
      {.workflows = {
           "name: w\nsteps:\n  bad: {run: \"echo no such thing >&2; exit 3\"}\n  next: {needs: [bad], exec: [x]}\n"}});
  const std::string id = start("w");
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kFailed);
  EXPECT_EQ(newest().steps, (std::map<std::string, std::uint64_t>{{"failed", 1}, {"pruned", 1}}));
  EXPECT_EQ(task(id)->state, TaskState::kFailed);
  EXPECT_EQ(task(id)->status_message["parts"][0]["text"], "bad: exit status 3: no such thing");
  EXPECT_EQ(told("next"), Told{});
}

TEST_F(RunsTest, ChecksInputsBeforeAnythingStarts) {
  begin({.workflows = {"name: w\ninputs: {type: object, required: [a]}\nsteps: {s: {exec: [x]}}\n"}});
  EXPECT_TRUE(runs().check("w", {{"a", 1}}, "name", "args").has_value());
  const auto missing = runs().check("w", Json::object(), "name", "args");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().violations.front().field, "args.a");
  const auto unknown = runs().check("v", Json::object(), "name", "args");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().violations.front().field, "name");
}

TEST_F(RunsTest, AStepIsDurableAsRunningBeforeItsProcessStarts) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a")}});
  store_.set(Mood::kTakesItsTime);
  start("w");
  run_turns();
  EXPECT_EQ(status_in(store_.waiting(), "a"), "running");
  EXPECT_EQ(WatchedStore::rows_in<store::TaskRow>(store_.waiting()).size(), 1U);
  EXPECT_EQ(WatchedStore::rows_in<store::RunRow>(store_.waiting()).size(), 1U);
  EXPECT_TRUE(life_->children.all().empty());
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return !life_->children.all().empty(); }));
  EXPECT_EQ(pushed("child").front()["kind"], "step:" + newest().id + "/a");
}

TEST_F(RunsTest, NothingStartsWhileTheStoreRefuses) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a")}});
  store_.set(Mood::kRefuses);
  start("w");
  run_turns();
  EXPECT_GE(store_.refusals(), 1U);
  EXPECT_TRUE(life_->children.all().empty());
  store_.set(Mood::kWorks);
  EXPECT_TRUE(run_until_written("a", "1\n"));
}

TEST_F(RunsTest, AStepIsDurableAsDoneBeforeAnybodyIsToldAndBeforeTheNextStarts) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a") + "  b: {needs: [a], exec: [\"true\"]}\n"}});
  start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  store_.set(Mood::kTakesItsTime);
  go();
  ASSERT_TRUE(run_until([&] { return life_->children.all().empty(); }));
  run_turns();
  EXPECT_EQ(status_in(store_.waiting(), "a"), "done");
  EXPECT_EQ(told("a"), Told{"start"});
  EXPECT_EQ(told("b"), Told{});
  store_.set(Mood::kRefuses);
  run_turns();
  EXPECT_EQ(told("a"), Told{"start"});
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(told("a"), (Told{"start", "done"}));
  EXPECT_EQ(told("b"), (Told{"start", "done"}));
}

TEST_F(RunsTest, NothingStartsBeforeTheEndOfEachOfItsNeedsHasBeenTold) {
  begin({.workflows = {"name: both\nsteps:\n" + waiting_step("a") + waiting_step("b") +
                       "  last: {needs: [a, b], exec: [\"true\"]}\n"}});
  start("both");
  ASSERT_TRUE(run_until([&] { return written("a") == "1\n" && written("b") == "1\n"; }));
  store_.set(Mood::kTakesItsTime);
  go();
  ASSERT_TRUE(run_until([&] { return life_->children.all().empty(); }));
  store_.set(Mood::kWorks);  // one end is durable now, the other with the next batch
  ASSERT_TRUE(run_until_over());
  std::vector<std::string> order;
  for (const Json& event : pushed("step")) {
    if (event["step"] == "last" || event["phase"] == "done") order.push_back(event["step"]);
  }
  ASSERT_EQ(order.size(), 4U);
  EXPECT_EQ(order[2] + order[3], "lastlast");
}

TEST_F(RunsTest, ASnapshotShowsTheEndThatTheFeedHasToldAlthoughItIsNotYetDurable) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a")}});
  start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  store_.set(Mood::kTakesItsTime);
  go();
  ASSERT_TRUE(run_until([&] { return life_->children.all().empty(); }));
  run_turns();
  store_.set(Mood::kWorks);  // for the end of the step, but not for the run's
  store_.set(Mood::kTakesItsTime);
  ASSERT_TRUE(run_until([&] { return runs().live() == 0; }));
  EXPECT_EQ(pushed("run").back()["status"], "completed");
  EXPECT_EQ(newest().status, RunStatus::kCompleted);
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(newest().status, RunStatus::kCompleted);
}

TEST_F(RunsTest, CancellingEndsWhatRunsWhatWaitsForAPlaceAndWhatHasNotStarted) {
  constexpr int kSteps = 66;  // two more than run at once
  std::string text = "name: w\nsteps:\n";
  std::string needs;
  for (int i = 0; i < kSteps; ++i) {
    text += fmt::format("  s{}: {{exec: [sleep, \"1000\"]}}\n", i);
    needs += fmt::format("{}s{}", i > 0 ? ", " : "", i);
  }
  begin({.workflows = {text + "  last: {needs: [" + needs + "], exec: [\"true\"]}\n"}});
  const std::string id = start("w");
  ASSERT_TRUE(run_until([&] { return life_->children.all().size() == 64; }));
  runs().cancel(id);
  runs().cancel(id);
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kCancelled);
  EXPECT_EQ(newest().steps, (std::map<std::string, std::uint64_t>{{"cancelled", kSteps + 1}}));
  EXPECT_EQ(task(id)->state, TaskState::kCanceled);
  EXPECT_TRUE(life_->children.all().empty());
  EXPECT_EQ(told("s0"), (Told{"start", "cancelled"}));
  EXPECT_EQ(told("s65"), (Told{"start", "cancelled"}));
  EXPECT_EQ(told("last"), Told{});
  EXPECT_EQ(pushed("child.removed").size(), 64U);
}

TEST_F(RunsTest, StepsThatCannotBeStartedDoNotKeepOthersFromTheirPlaces) {
  std::string text = "name: w\nsteps:\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("  s{}: {{exec: [\"true\"]}}\n", i);
  for (int i = 0; i < 64; ++i)
    text += fmt::format("  bad{}: {{allow_failure: true, exec: [echo, \"${{{{ .run.id.x }}}}\"]}}\n", i);
  begin({.workflows = {text + "  good: {exec: [\"true\"]}\n"}});
  start("w");
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kCompleted);
  EXPECT_EQ(told("bad63"), (Told{"start", "failed"}));
  EXPECT_EQ(told("good"), (Told{"start", "done"}));
}

TEST_F(RunsTest, GoingOnTellsOfTheRunsAloneOfWhichThereIsMoreToTell) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a"), "name: v\nsteps:\n" + waiting_step("b")}});
  const std::string at_work = start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  life_->instance.pause("lunch");
  const std::string held = start("v");
  const auto told = [&] {
    std::vector<std::string> out;
    for (const Json& run : pushed("run"))
      out.push_back(run["id"].get<std::string>() + " " + run["status"].get<std::string>());
    return out;
  };
  std::vector<std::string> expected = told();
  const std::int64_t updated_ms = newest().updated_ms;
  clock_.advance_ms(1000);
  runs().go_on();
  EXPECT_EQ(told(), expected) << "still paused";
  life_->instance.unpause();
  runs().go_on();
  expected.push_back(held + " running");
  EXPECT_EQ(told(), expected);
  EXPECT_EQ(runs().find(kOperator, at_work, false)->facts.updated_ms, updated_ms) << "what is shown is what was told";
  ASSERT_TRUE(run_until_written("b", "1\n"));
  for (const char* status : {" paused", " running"}) {
    status == std::string(" paused") ? runs().pause(at_work) : runs().unpause(at_work);
    expected.push_back(at_work + status);
    EXPECT_EQ(told(), expected);
  }
  runs().unpause(at_work);
  EXPECT_EQ(told(), expected);
  go();
  ASSERT_TRUE(run_until_over());
}

TEST_F(RunsTest, AnAttemptThatChangesNoSummaryIsDurableBeforeItStartsToo) {
  begin({.workflows = {"name: w\nsteps: {a: {exec: [\"false\"], retries: 1}}\n"}});
  start("w");
  ASSERT_TRUE(run_until_over());
  std::vector<std::string> written;
  for (const auto& row : store_.rows<store::StepRow>()) written.push_back(Json::parse(row.body)["status"]);
  EXPECT_EQ(written, (std::vector<std::string>{"running", "pending", "running", "failed"}));
}

TEST_F(RunsTest, ARunThatWasCancelledBeforeACrashStaysCancelled) {
  const Setting setting{
      .workflows = {"name: w\nsteps:\n" + waiting_step("a") + "  b: {needs: [a], exec: [\"true\"]}\n"}};
  begin(setting);
  const std::string id = start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  runs().cancel(id);
  ASSERT_TRUE(run_until_durable());
  ASSERT_FALSE(has_ended(id));
  begin(setting);
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kCancelled);
  EXPECT_EQ(task(id)->state, TaskState::kCanceled);
  EXPECT_TRUE(pushed("child").empty());
  EXPECT_EQ(written("a"), "1\n");
}

TEST_F(RunsTest, AfterACrashWhatWasDoneIsNotDoneAgainAndWhatWasCutOffIsTriedAgain) {
  const Setting setting{
      .workflows = {
          "name: w\nsteps:\n  a: {run: \"echo $AGENTD_ATTEMPT >> " + path("a") + "; echo out\"}\n" + waiting_step("b") +
          "  end: {needs: [a, b], finish: {output: [\"${{ .steps.a.output }}\", \"${{ .steps.b.output }}\"]}}\n"}};
  begin(setting);
  const std::string id = start("w");
  ASSERT_TRUE(run_until_written("b", "1\n"));
  ASSERT_TRUE(run_until([&] { return told("a").size() == 2; }));
  begin(setting);
  ASSERT_TRUE(run_until_written("b", "1\n2\n"));
  go();
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kCompleted);
  EXPECT_EQ(newest().output, Json({"out", "done"}));
  EXPECT_EQ(written("a"), "1\n");
  EXPECT_EQ(told("a"), Told{});
  EXPECT_EQ(task(id)->state, TaskState::kCompleted);
}

TEST_F(RunsTest, ARunWhoseWorkflowHasChangedIsStalledByTheNextLife) {
  begin({.workflows = {"name: w\nsteps:\n" + waiting_step("a")}});
  const std::string id = start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  begin({.workflows = {"name: w\nsteps: {a: {exec: [\"true\"]}}\n"}});
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(newest().status, RunStatus::kStalled);
  EXPECT_EQ(task(id)->state, TaskState::kFailed);
  EXPECT_TRUE(pushed("child").empty());
}

TEST_F(RunsTest, AStopLeavesTheRunToTheNextLife) {
  const Setting setting{.workflows = {"name: w\nsteps:\n" + waiting_step("a")}};
  begin(setting);
  const std::string id = start("w");
  ASSERT_TRUE(run_until_written("a", "1\n"));
  runs().stop();
  life_->journal.flush_now();
  go();
  begin(setting);
  ASSERT_TRUE(run_until_over());
  EXPECT_EQ(task(id)->state, TaskState::kCompleted);
  EXPECT_EQ(written("a"), "1\n2\n");
}

TEST_F(RunsTest, TheOldestRunsLeaveAndTheirOwnersAloneAreTold) {
  begin({.workflows = {"name: w\nsteps: {a: {exec: [\"true\"]}}\n"}, .runs = {.keep_last = 1}});
  const std::string oldest = start("w");
  ASSERT_TRUE(run_until_over());
  clock_.advance_ms(1);
  const std::string newer = start("w");
  ASSERT_TRUE(run_until_over());
  ASSERT_TRUE(run_until([&] { return runs().count(kAlice) == 1; }));
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(newest().id, newer);
  ASSERT_EQ(pushed("run.removed", kAlice).size(), 1U);
  EXPECT_EQ(pushed("run.removed", kAlice).front()["id"], oldest);
  EXPECT_TRUE(pushed("run.removed", kBob).empty());
  EXPECT_TRUE(store_.steps(oldest).value().empty());
  EXPECT_EQ(runs().count(kBob), 0U);
}

}  // namespace
}  // namespace agentd::runtime
