#include "command/ops.h"

#include <gtest/gtest.h>

#include "schema/validator.h"

namespace agentd::command {
namespace {

std::size_t misses(const Json& schema, const Json& value) {
  const auto compiled = schema::compile(schema);
  EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
  return compiled ? compiled->validate(value, "data").size() : 0;
}

// The schema at a place of the bundle, which may refer to the rest of it.
Json envelope(const std::string& op) { return command_bundle()["$defs"]["envelopes"]["$defs"][op]; }

TEST(Ops, EachIsFoundByItsName) {
  for (const OpRow& row : ops()) EXPECT_EQ(find_op(row.name), &row);
  EXPECT_EQ(find_op("nothing"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(Ops, EverySchemaOfTheTableCompilesAndItsArgumentsAreClosed) {
  for (const OpRow& row : ops()) {
    const Json args = Json::parse(row.args);
    EXPECT_EQ(args["additionalProperties"], false) << row.name;
    EXPECT_TRUE(schema::compile(args).has_value()) << row.name;
    EXPECT_TRUE(schema::compile(row.result()).has_value()) << row.name;
  }
}

TEST(Ops, TheCardNamesEveryOpAndItsReply) {
  EXPECT_EQ(ops_json().size(), ops().size());
  EXPECT_EQ(ops_json().front(), (Json{{"op", "status"}, {"reply", "message"}}));
  const access::Caller boss{.viewer = {.is_operator = true, .principal = "operator"}, .role = config::Role::kOperator};
  EXPECT_EQ(ops_json(boss, {.sign_in = true, .introspection = true}), ops_json());
  for (const Json& row : ops_json(boss, {})) {
    EXPECT_EQ(find_op(row["op"].get<std::string>())->gate, Gate::kNone) << row;
  }
}

TEST(Ops, WhatMayBeSetIsToldToWhoMaySetIt) {
  const access::Caller boss{.viewer = {.is_operator = true, .principal = "operator"}, .role = config::Role::kOperator};
  EXPECT_EQ(settable_json(boss), Json::array({"agent.approval", "a2a.introspection.enabled"}));
  const access::Caller granted{.viewer = {.principal = "p"},
                               .role = config::Role::kUser,
                               .grants = std::make_shared<const std::vector<std::string>>(1, "*")};
  EXPECT_EQ(settable_json(granted), Json::array());
}

// command.md section 3, the column "who".
TEST(Ops, WhoMayRunWhat) {
  const auto named = [](config::Role role, std::vector<std::string> grants = {}) {
    return access::Caller{.viewer = {.is_operator = role == config::Role::kOperator, .principal = "p"},
                          .role = role,
                          .grants = std::make_shared<const std::vector<std::string>>(std::move(grants))};
  };
  const auto may = [](const access::Caller& caller) {
    std::string out;
    for (const OpRow& row : ops()) {
      if (may_run(caller, row)) out += std::string(row.name) + " ";
    }
    return out;
  };
  EXPECT_EQ(may(named(config::Role::kAgent)), "status workflow.run workflow.status ");
  EXPECT_EQ(may(named(config::Role::kUser)),
            "status workflow.run workflow.status workflow.cancel subagent.send subagent.status plan.get "
            "conversation.get run.get subagent.get ");
  EXPECT_EQ(may(named(config::Role::kAgent, {"workflow.*", "plan.get"})),
            "status workflow.run workflow.status workflow.cancel workflow.signal plan.get ");
  // No grant reaches what is the operator's.
  EXPECT_EQ(may(named(config::Role::kUser, {"*"})),
            "status workflow.run workflow.status workflow.cancel workflow.signal subagent.send subagent.kill "
            "subagent.status plan.get conversation.get run.get subagent.get ");
  for (const OpRow& row : ops()) EXPECT_TRUE(may_run(named(config::Role::kOperator), row)) << row.name;
}

TEST(Ops, TheBundleHoldsACommandToItsEnvelope) {
  const Json bundle = command_bundle();
  EXPECT_EQ(misses(bundle, {{"agentd", {{"op", "status"}}}}), 0U);
  EXPECT_EQ(misses(bundle, {{"agentd", {{"op", "workflow.run"}, {"workflow", "w"}, {"inputs", {{"a", 1}}}}}}), 0U);
  EXPECT_GT(misses(bundle, {{"agentd", {{"op", "workflow.run"}}}}), 0U);
  EXPECT_GT(misses(bundle, {{"agentd", {{"op", "status"}, {"more", 1}}}}), 0U);
  EXPECT_GT(misses(bundle, {{"agentd", Json::object()}}), 0U);
  EXPECT_GT(misses(bundle, {{"agentd", {{"op", ""}}}}), 0U);
  EXPECT_GT(misses(bundle, {{"agentd", {{"op", "status"}}}, {"more", 1}}), 0U);
}

TEST(Ops, TheBundleLetsAnOpOfAWorkflowPass) {
  EXPECT_EQ(misses(command_bundle(), {{"agentd", {{"op", "deploy"}, {"anything", 1}}}}), 0U);
}

TEST(Ops, EachEnvelopeTakesItsOwnOpAlone) {
  EXPECT_EQ(misses(envelope("status"), {{"agentd", {{"op", "status"}}}}), 0U);
  EXPECT_GT(misses(envelope("status"), {{"agentd", {{"op", "workflow.run"}, {"workflow", "w"}}}}), 0U);
  EXPECT_GT(misses(envelope("workflow.run"), {{"agentd", {{"op", "workflow.run"}, {"workflow", ""}}}}), 0U);
}

TEST(Ops, TheBundleDescribesEveryOp) {
  const Json described = command_bundle()["$defs"]["ops"];
  for (const OpRow& row : ops()) {
    const Json& op = described[std::string(row.name)];
    EXPECT_EQ(op["args"], Json::parse(row.args));
    EXPECT_FALSE(op["description"].get<std::string>().empty());
    EXPECT_TRUE(op.contains("result"));
  }
}

}  // namespace
}  // namespace agentd::command
