#include "access/caller.h"

#include <gtest/gtest.h>

namespace agentd::access {
namespace {

Caller with_grants(std::vector<std::string> grants) {
  return {.grants = std::make_shared<const std::vector<std::string>>(std::move(grants))};
}

TEST(Caller, GrantsAreGlobsOverOps) {
  const Caller caller = with_grants({"workflow.*", "subagent.kill"});
  EXPECT_TRUE(is_granted(caller, "workflow.signal"));
  EXPECT_TRUE(is_granted(caller, "subagent.kill"));
  EXPECT_FALSE(is_granted(caller, "subagent.send"));
  EXPECT_FALSE(is_granted({}, "workflow.signal"));
}

TEST(Caller, GrantsOfWorkflowsReplaceTheDefaultSet) {
  EXPECT_TRUE(may_run_workflow({}, "report"));
  EXPECT_TRUE(may_run_workflow(with_grants({"subagent.kill"}), "report"));
  const Caller narrowed = with_grants({"workflow.run:re*", "workflow.run:build"});
  EXPECT_TRUE(may_run_workflow(narrowed, "report"));
  EXPECT_TRUE(may_run_workflow(narrowed, "build"));
  EXPECT_FALSE(may_run_workflow(narrowed, "deploy"));
}

}  // namespace
}  // namespace agentd::access
