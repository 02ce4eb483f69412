#include "workflow/plan.h"

#include <gtest/gtest.h>

namespace agentd::workflow {
namespace {

using Ids = std::vector<std::string>;
using enum StepStatus;

Plan plan_of(std::string_view steps, Json inputs = Json::object()) {
  auto document = parse_document("name: w\nsteps:\n" + std::string(steps), "w.yaml");
  auto workflow = parse(document.value());
  EXPECT_TRUE(workflow.has_value()) << (workflow ? "" : to_string(workflow.error().front()));
  return Plan(std::make_shared<const Workflow>(std::move(workflow.value())), "run-1", std::move(inputs));
}

// Starts and ends a step at time 1.
bool run(Plan& plan, const std::string& id, StepStatus status = kDone, Json output = nullptr, std::string error = "") {
  plan.start(id, 1);
  return plan.end(id, status, std::move(output), std::move(error), 1);
}

constexpr std::string_view kDiamond = R"(
  a: {exec: [x]}
  b: {needs: [a], exec: [x]}
  c: {needs: [a], exec: [x]}
  d: {needs: [b, c], exec: [x]}
)";

TEST(Plan, OffersEveryStepWhoseNeedsAreMetAtOnce) {
  Plan plan = plan_of(kDiamond);
  EXPECT_EQ(plan.status(), RunStatus::kPending);
  EXPECT_EQ(plan.ready(), Ids{"a"});
  plan.start("a", 5);
  EXPECT_EQ(plan.status(), RunStatus::kRunning);
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_FALSE(plan.end("a", kDone, "out", "", 9));
  EXPECT_EQ(plan.ready(), (Ids{"b", "c"}));
  EXPECT_EQ(plan.step("a").started_ms, 5);
  EXPECT_EQ(plan.step("a").finished_ms, 9);
  EXPECT_EQ(plan.step("a").attempt, 1U);
}

TEST(Plan, ADiamondJoinsAfterBothSides) {
  Plan plan = plan_of(kDiamond);
  run(plan, "a");
  run(plan, "b");
  EXPECT_EQ(plan.ready(), Ids{"c"});
  run(plan, "c");
  EXPECT_EQ(plan.ready(), Ids{"d"});
  run(plan, "d");
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_EQ(plan.status(), RunStatus::kCompleted);
  EXPECT_EQ(plan.counts(), (std::map<std::string, std::uint64_t>{{"done", 4}}));
  EXPECT_EQ(plan.error(), "");
}

TEST(Plan, AFailureEndsTheRunAfterTheIndependentStepsAndPrunesTheDependentOnes) {
  Plan plan = plan_of(kDiamond);
  run(plan, "a");
  plan.start("b", 1);
  plan.start("c", 1);
  plan.end("b", kFailed, nullptr, "exit status 3: no such thing", 2);
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_EQ(plan.status(), RunStatus::kRunning);
  EXPECT_EQ(plan.take_settled(), Ids{"d"});
  EXPECT_EQ(plan.take_settled(), Ids{});
  plan.end("c", kDone, nullptr, "", 3);
  EXPECT_EQ(plan.status(), RunStatus::kFailed);
  EXPECT_EQ(plan.error(), "b: exit status 3: no such thing");
  EXPECT_EQ(plan.counts(), (std::map<std::string, std::uint64_t>{{"done", 2}, {"failed", 1}, {"pruned", 1}}));
}

TEST(Plan, PruningGoesAllTheWayDownInOneCall) {
  Plan plan = plan_of("  a: {exec: [x]}\n  b: {needs: [a], exec: [x]}\n  c: {needs: [b], finish: {}}\n");
  run(plan, "a", kTimeout, nullptr, "no end after 30s");
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_EQ(plan.take_settled(), (Ids{"b", "c"}));
  EXPECT_EQ(plan.status(), RunStatus::kFailed);
  EXPECT_EQ(plan.error(), "a: no end after 30s");
}

TEST(Plan, AStepIsPrunedAsSoonAsOneNeedFailedEvenWhileAnotherRuns) {
  Plan plan = plan_of("  a: {exec: [x]}\n  b: {exec: [x]}\n  c: {needs: [a, b], exec: [x]}\n");
  plan.start("a", 1);
  run(plan, "b", kFailed);
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_EQ(plan.step("c").status, kPruned);
}

TEST(Plan, AnAllowedFailureCountsAsMetAndIsVisible) {
  Plan plan = plan_of(R"(
  a: {exec: [x], allow_failure: true}
  b: {needs: [a], finish: {output: "${{ .steps.a }}"}}
)");
  run(plan, "a", kFailed, "half", "broke");
  EXPECT_EQ(plan.ready(), Ids{"b"});
  EXPECT_EQ(plan.finish_of("b")->output, Json({{"status", "failed"}, {"output", "half"}, {"error", "broke"}}));
  run(plan, "b");
  EXPECT_EQ(plan.status(), RunStatus::kCompleted);
  EXPECT_EQ(plan.error(), "");
}

TEST(Plan, AFalseWhenSkipsAndTheSkippedNeedIsMet) {
  Plan plan = plan_of(R"(
  a: {when: .inputs.deep, exec: [x]}
  b: {needs: [a], finish: {output: "${{ [.steps.a.status, .steps.a.output] }}"}}
)");
  EXPECT_EQ(plan.ready(), Ids{"b"});
  EXPECT_EQ(plan.take_settled(), Ids{"a"});
  EXPECT_EQ(plan.finish_of("b")->output, Json({"skipped", nullptr}));
  run(plan, "b");
  EXPECT_EQ(plan.status(), RunStatus::kCompleted);
}

TEST(Plan, AWhenIsJudgedByItsNeedsOnceTheyAreThere) {
  Plan plan = plan_of("  a: {exec: [x]}\n  b: {needs: [a], when: .steps.a.output == \"go\", exec: [x]}\n");
  EXPECT_EQ(plan.ready(), Ids{"a"});
  run(plan, "a", kDone, "go");
  EXPECT_EQ(plan.ready(), Ids{"b"});
}

TEST(Plan, AWhenWithoutAValueFailsItsStep) {
  Plan plan = plan_of("  a: {when: .inputs + 1, exec: [x]}\n  b: {needs: [a], exec: [x]}\n");
  EXPECT_EQ(plan.ready(), Ids{});
  EXPECT_EQ(plan.take_settled(), (Ids{"a", "b"}));
  EXPECT_EQ(plan.status(), RunStatus::kFailed);
  EXPECT_EQ(plan.error().find("a: when: `.inputs + 1`: object"), 0U) << plan.error();
}

TEST(Plan, RetriesAsOftenAsToldAndThenFails) {
  Plan plan = plan_of("  a: {exec: [x], retries: 2}\n");
  EXPECT_TRUE(run(plan, "a", kFailed, nullptr, "first"));
  EXPECT_EQ(plan.ready(), Ids{"a"});
  EXPECT_EQ(plan.status(), RunStatus::kRunning);
  EXPECT_EQ(plan.error(), "");
  EXPECT_TRUE(run(plan, "a", kTimeout));
  EXPECT_FALSE(run(plan, "a", kFailed, nullptr, "third"));
  EXPECT_EQ(plan.step("a").attempt, 3U);
  EXPECT_EQ(plan.error(), "a: third");
}

TEST(Plan, ARetryThatSucceedsLeavesNoTrace) {
  Plan plan = plan_of("  a: {exec: [x], retries: 1}\n");
  run(plan, "a", kFailed, nullptr, "first");
  EXPECT_FALSE(run(plan, "a", kDone, "out"));
  EXPECT_EQ(plan.status(), RunStatus::kCompleted);
  EXPECT_EQ(plan.step("a").error, "");
}

TEST(Plan, TheErrorIsThatOfTheStepThatFailedFirst) {
  Plan plan = plan_of("  a: {exec: [x]}\n  b: {exec: [x]}\n");
  plan.start("a", 1);
  plan.start("b", 1);
  plan.end("b", kFailed, nullptr, "early", 5);
  plan.end("a", kFailed, nullptr, "late", 7);
  EXPECT_EQ(plan.error(), "b: early");
}

TEST(Plan, CancelSettlesWhatWaitsAndEndsWithWhatRuns) {
  Plan plan = plan_of("  a: {exec: [x], retries: 3}\n  b: {needs: [a], exec: [x]}\n");
  plan.start("a", 1);
  plan.cancel(7);
  EXPECT_EQ(plan.step("b").status, kCancelled);
  EXPECT_EQ(plan.step("b").finished_ms, 7);
  EXPECT_EQ(plan.status(), RunStatus::kRunning);
  EXPECT_FALSE(plan.end("a", kFailed, nullptr, "killed", 8));  // not tried again
  EXPECT_EQ(plan.status(), RunStatus::kCancelled);
  EXPECT_EQ(plan.ready(), Ids{});
}

TEST(Plan, CancelChangesNothingOnceTheRunHasEnded) {
  Plan plan = plan_of("  a: {exec: [x]}\n");
  run(plan, "a");
  plan.cancel(9);
  EXPECT_EQ(plan.status(), RunStatus::kCompleted);
}

TEST(Plan, RecoversFromItsDocumentsAfterARestart) {
  constexpr std::string_view kSteps =
      "  a: {exec: [x]}\n  b: {needs: [a], exec: [x], retries: 1}\n  c: {when: .inputs.no, exec: [x]}\n";
  Plan before = plan_of(kSteps);
  EXPECT_EQ(before.ready(), Ids{"a"});
  run(before, "a", kDone, Json({{"k", 1}}));
  before.start("b", 4);

  Plan after = plan_of(kSteps);
  for (const char* id : {"a", "b", "c"}) after.step_from_json(id, before.step_to_json(id));
  EXPECT_EQ(after.step("b").status, kRunning);
  after.recover();
  EXPECT_EQ(after.step("a").output, Json({{"k", 1}}));
  EXPECT_EQ(after.step("c").status, kSkipped);
  EXPECT_EQ(after.ready(), Ids{"b"});  // a is not run again
  after.start("b", 6);
  EXPECT_EQ(after.step("b").attempt, 2U);
  EXPECT_TRUE(after.end("b", kFailed, nullptr, "", 7));  // the restart took no retry
}

TEST(Plan, ARestoredRunKnowsItsEnd) {
  constexpr std::string_view kSteps = "  a: {exec: [x]}\n  b: {needs: [a], finish: {output: 5}}\n";
  Plan before = plan_of(kSteps);
  run(before, "a");
  run(before, "b", kDone, 5);
  Plan after = plan_of(kSteps);
  for (const char* id : {"a", "b"}) after.step_from_json(id, before.step_to_json(id));
  EXPECT_EQ(after.status(), RunStatus::kCompleted);
  EXPECT_EQ(after.output(), 5);

  Plan failed = plan_of(kSteps);
  failed.step_from_json("a", {{"status", "failed"}, {"error", "broke"}, {"finished", 3}});
  EXPECT_EQ(failed.error(), "a: broke");
}

TEST(Plan, AStepDocumentThatIsNotOursReadsAsPending) {
  Plan plan = plan_of("  a: {exec: [x]}\n");
  for (const Json& bad : {Json(), Json("x"), Json({{"status", 5}}), Json({{"status", "gone"}, {"attempt", "x"}})}) {
    plan.step_from_json("a", bad);
    EXPECT_EQ(plan.step("a").status, kPending);
  }
}

TEST(Plan, FillsEveryTemplateOfAnExecStep) {
  Plan plan = plan_of(R"(
  a: {exec: [x]}
  b:
    needs: [a]
    exec: [git, "-C${{ .inputs.dir }}", "${{ .steps.a.output }}", "${{ .run.id }}", plain]
    cwd: ${{ .inputs.dir }}
    env: {N: "${{ .inputs.n }}", J: "${{ .inputs }}"}
    input: "${{ .steps.a.status }}\n"
)",
                      {{"dir", "/a b"}, {"n", 7}});
  run(plan, "a", kDone, "it's \"quoted\"");
  const ExecSpec spec = plan.exec_of("b").value();
  EXPECT_EQ(spec.argv, (Ids{"git", "-C/a b", "it's \"quoted\"", "run-1", "plain"}));
  EXPECT_EQ(spec.cwd, "/a b");
  EXPECT_EQ(spec.env[0].second, "7");
  EXPECT_EQ(spec.env[1].second, R"({"dir":"/a b","n":7})");
  EXPECT_EQ(spec.input, "done\n");
}

TEST(Plan, AnExpressionSeesOnlyTheStepsThatItsOwnNeeds) {
  Plan plan = plan_of(R"(
  a: {exec: [x]}
  b: {needs: [a], exec: [x]}
  other: {exec: [x]}
  c: {needs: [b], finish: {output: "${{ .steps | keys }}"}}
)");
  run(plan, "a");
  run(plan, "b");
  run(plan, "other");
  EXPECT_EQ(plan.finish_of("c")->output, Json({"a", "b"}));
}

TEST(Plan, AnExpressionThatFailsIsNamedWithItsReason) {
  Plan plan = plan_of("  a: {exec: [x, \"${{ .inputs.n + [] }}\"]}\n", {{"n", 1}});
  const auto spec = plan.exec_of("a");
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().code, Code::kInvalidParams);
  EXPECT_EQ(spec.error().message, "`.inputs.n + []`: number (1) and array ([]) cannot be added");
}

TEST(Plan, AnArgumentWithANulIsRefusedInsteadOfCut) {
  Plan plan = plan_of("  a: {exec: [x, \"${{ .inputs.s }}\"]}\n", {{"s", std::string("a\0b", 3)}});
  EXPECT_NE(plan.exec_of("a").error().message.find("NUL"), std::string::npos);
}

TEST(Plan, FinishFillsOutputAndArtifact) {
  Plan plan = plan_of(R"(
  a:
    finish:
      output: {n: "${{ .inputs.n }}", list: ["x${{ .inputs.n }}", true, null]}
      artifact: {name: r.md, text: "# ${{ .inputs.n }}"}
)",
                      {{"n", 3}});
  const Plan::Finish finish = plan.finish_of("a").value();
  EXPECT_EQ(dump_json(finish.output), R"({"n":3,"list":["x3",true,null]})");
  ASSERT_EQ(finish.artifacts.size(), 1U);
  EXPECT_EQ(finish.artifacts[0].text, "# 3");
  EXPECT_EQ(finish.artifacts[0].media_type, "text/plain");
  run(plan, "a", kDone, finish.output);
  EXPECT_EQ(plan.output(), finish.output);
  plan.set_output("other");
  EXPECT_EQ(plan.output(), "other");
}

TEST(Statuses, RoundTripTheirNames) {
  for (const char* name :
       {"pending", "running", "done", "failed", "skipped", "pruned", "cancelled", "timeout", "suspended"}) {
    EXPECT_EQ(to_string(step_status(name).value()), name);
  }
  for (const char* name :
       {"pending", "running", "suspended", "paused", "completed", "failed", "refused", "cancelled", "stalled"}) {
    EXPECT_EQ(to_string(run_status(name).value()), name);
  }
  EXPECT_FALSE(step_status("completed"));
  EXPECT_FALSE(is_terminal(RunStatus::kPaused));
  EXPECT_TRUE(is_terminal(RunStatus::kCompleted));
  EXPECT_TRUE(is_terminal(RunStatus::kStalled));
}

}  // namespace
}  // namespace agentd::workflow
