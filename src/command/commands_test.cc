#include "command/commands.h"

#include <gtest/gtest.h>

#include "command/declared_ops.h"
#include "command/status_document.h"
#include "runtime/core_fixture.h"

namespace agentd::command {
namespace {

using runtime::Answer;
using runtime::kAlice;
using runtime::kBob;
using runtime::kOperator;

class CommandsTest : public runtime::CoreTest {
 protected:
  CommandsTest() {
    runtime::Life& life = begin({.workflows = {"name: w\ninputs: {type: object, properties: {n: {type: integer}}}\n"
                                               "steps: {a: {finish: {output: \"${{ .inputs.n }}\"}}}\n"}});
    commands_.emplace(CommandParts{.service = life.service,
                                   .journal = life.journal,
                                   .feed = life.feed,
                                   .instance = life.instance,
                                   .runs = life.runs,
                                   .children = life.children,
                                   .conversations = life.conversations,
                                   .turns = life.turns,
                                   .subagents = life.subagents,
                                   .tools = life.tools,
                                   .skills = life.skills,
                                   .sign_in = life.sign_in,
                                   .settings = life.settings,
                                   .drain = [this](const std::string& reason) { drained_ = reason; }});
  }

  static std::string uri() { return std::string(a2a::uri(a2a::Extension::kCommand)); }
  static runtime::Call call(const feed::Viewer& viewer = kAlice) {
    runtime::Call out{.caller = {.viewer = viewer}};
    out.active.add(a2a::Extension::kCommand);
    return out;
  }
  static Json part(Json command) { return {{"data", {{"agentd", std::move(command)}}}}; }
  // A message with parts, marked as one with a command.
  static Json marked(std::vector<Json> parts) {
    return {{"messageId", "m"}, {"role", "ROLE_USER"}, {"parts", std::move(parts)}, {"extensions", {uri()}}};
  }

  Answer send(const runtime::Call& as, const Json& message, Json configuration = Json::object()) {
    auto answer = std::make_shared<std::optional<Result<Json>>>();
    commands_->send(as, {{"message", message}, {"configuration", std::move(configuration)}},
                    {.reply = runtime::into(answer)});
    return answer;
  }
  Json got(const Answer& answer) {
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    return (**answer).value();
  }
  // A refusal comes at once.
  static Error refusal(const Answer& answer) {
    EXPECT_TRUE(answer->has_value() && !(**answer).has_value());
    return answer->has_value() && !(**answer) ? (**answer).error() : Error{};
  }

  // The workflows that there are from now on.
  void reload(std::vector<std::string> documents) {
    life_->runs.set_workflows(runtime::Setting{.workflows = std::move(documents)}.parsed());
  }

  std::string drained_;  // why
  std::optional<Commands> commands_;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Everything is wrong with the first envelope. Each check is passed in turn, and the next one speaks.
TEST_F(CommandsTest, AnEnvelopeIsCheckedInTheOrderOfTheSpecification) {
  runtime::Call as{.caller = {.viewer = kAlice}};
  Json message = marked({part({{"op", "nothing"}}), part({{"op", "status"}})});
  message.erase("extensions");
  message["taskId"] = "t";
  Json configuration = {{"acceptedOutputModes", {"text/plain"}}};
  const auto refused = [&] { return refusal(send(as, message, configuration)); };

  EXPECT_EQ(refused().code, Code::kCommandNotActivated);
  EXPECT_EQ(refused().metadata, (Metadata{{"extension", uri()}}));
  as = call();
  EXPECT_EQ(refused().code, Code::kExtensionNotMarked);
  EXPECT_EQ(refused().metadata, (Metadata{{"extension", uri()}}));
  message["extensions"] = {uri()};
  EXPECT_EQ(refused().code, Code::kCommandEnvelopeAmbiguous);
  message["parts"].erase(1);
  EXPECT_EQ(refused().code, Code::kCommandTaskId);
  EXPECT_EQ(refused().metadata, (Metadata{{"op", "nothing"}}));
  message.erase("taskId");
  EXPECT_EQ(refused().code, Code::kContentTypeNotSupported);
  configuration["acceptedOutputModes"] = {"text/plain", "Application/JSON; charset=utf-8"};
  EXPECT_EQ(refused().code, Code::kUnknownOp);
  EXPECT_EQ(refused().metadata, (Metadata{{"op", "nothing"}}));
  message["parts"][0] = part({{"op", "workflow.run"}, {"more", 1}});
  EXPECT_EQ(refused().code, Code::kInvalidCommandArgs);
  EXPECT_EQ(refused().metadata, (Metadata{{"op", "workflow.run"}}));
  message["parts"][0] = part({{"op", "workflow.run"}, {"workflow", "w"}, {"inputs", {{"n", 7}}}});
  EXPECT_EQ(got(send(as, message, configuration))["task"]["artifacts"][0]["parts"][0]["data"], 7);
}

TEST_F(CommandsTest, AFaultNamesThePartAndTheArgument) {
  const Error error = refusal(
      send(call(), marked({{{"text", "please"}}, part({{"op", "workflow.run"}, {"workflow", 1}, {"more", 1}})})));
  std::vector<std::string> fields;
  for (const FieldViolation& violation : error.violations) fields.push_back(violation.field);
  std::ranges::sort(fields);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"message.parts[1].data.agentd.more", "message.parts[1].data.agentd.workflow"}));
}

TEST_F(CommandsTest, WhatIsNoOpAtAllIsUnknownWithoutAName) {
  for (const Json& command : {Json("status"), Json::object(), Json({{"op", 1}}), Json({{"op", ""}})}) {
    const Error error = refusal(send(call(), marked({part(command)})));
    EXPECT_EQ(error.code, Code::kUnknownOp) << command;
    EXPECT_TRUE(error.metadata.empty()) << command;
    EXPECT_EQ(error.violations.front().field, "message.parts[0].data.agentd") << command;
  }
}

TEST_F(CommandsTest, InputsAndNamesOfWorkflowsAreArgumentsToo) {
  const Json wrong = {{"op", "workflow.run"}, {"workflow", "w"}, {"inputs", {{"n", "seven"}}}};
  const Error inputs = refusal(send(call(), marked({part(wrong)})));
  EXPECT_EQ(inputs.code, Code::kInvalidCommandArgs);
  EXPECT_EQ(inputs.violations.front().field, "message.parts[0].data.agentd.inputs.n");
  EXPECT_EQ(inputs.metadata, (Metadata{{"op", "workflow.run"}}));
  const Error name = refusal(send(call(), marked({part({{"op", "workflow.run"}, {"workflow", "v"}})})));
  EXPECT_EQ(name.code, Code::kInvalidCommandArgs);
  EXPECT_EQ(name.violations.front().field, "message.parts[0].data.agentd.workflow");
  EXPECT_EQ(life_->tasks.size(), 0U);
}

TEST_F(CommandsTest, AMessageWithoutACommandPartGoesToTheAgent) {
  const Json data = {{"data", {{"other", 1}}}};
  const Json task = got(send({.caller = {.viewer = kAlice}}, marked({{{"text", "hi"}}, data})))["task"];
  EXPECT_EQ(task["artifacts"][0]["parts"][0]["text"], "You said: hi");
}

TEST_F(CommandsTest, ATaskOpEndsWithTheRunsOutput) {
  const Json task = got(send(call(), marked({part({{"op", "workflow.run"}, {"workflow", "w"}})})))["task"];
  EXPECT_EQ(task["status"]["state"], "TASK_STATE_COMPLETED");
  const std::string id = task["id"];
  EXPECT_EQ(this->task(id)->command, "workflow.run");
  EXPECT_EQ(this->task(id)->link.kind, "run");
}

TEST_F(CommandsTest, ATaskThatNoRunWorksOnIsLinkedToItsContext) {
  Json message = marked({part({{"op", "admin.pause"}})});
  message["contextId"] = "desk";
  const std::string id = got(send(call(kOperator), message))["task"]["id"];
  EXPECT_EQ(task(id)->link.kind, "turn");
  EXPECT_EQ(task(id)->link.id, "desk");
}

TEST_F(CommandsTest, TheResultIsAnArtifactOfTheExtension) {
  const Json command = {{"op", "workflow.run"}, {"workflow", "w"}, {"inputs", {{"n", 1}}}};
  const Json task = got(send(call(), marked({part(command)})))["task"];
  ASSERT_EQ(task["artifacts"].size(), 1U);
  EXPECT_EQ(task["artifacts"][0]["artifactId"], task["id"].get<std::string>() + ".result");
  EXPECT_EQ(task["artifacts"][0]["extensions"], Json::array({uri()}));
}

TEST_F(CommandsTest, AReadIsAMessageAndLeavesNothingBehind) {
  Json message = marked({part({{"op", "status"}})});
  message["contextId"] = "chat";
  const Json reply = got(send(call(), message))["message"];
  EXPECT_EQ(reply["role"], "ROLE_AGENT");
  EXPECT_EQ(reply["contextId"], "chat");
  EXPECT_EQ(reply["extensions"], Json::array({uri()}));
  ASSERT_EQ(reply["parts"].size(), 1U);
  EXPECT_EQ(reply["parts"][0]["mediaType"], "application/json");
  EXPECT_TRUE(pushed("").empty());
  EXPECT_EQ(life_->tasks.size(), 0U);
  EXPECT_TRUE(life_->conversations.all().empty());
}

TEST_F(CommandsTest, AReadOnAStreamIsItsOnlyEvent) {
  const auto stream = std::make_shared<runtime::Stream>();
  auto refused = std::make_shared<std::optional<Result<Json>>>();
  commands_->send(call(), {{"message", marked({part({{"op", "status"}})})}},
                  {.reply = runtime::into(refused), .stream = stream});
  ASSERT_EQ(stream->events.size(), 1U);
  EXPECT_TRUE(stream->events[0]->last);
  EXPECT_TRUE(Json::parse(stream->events[0]->text).contains("message"));
  EXPECT_FALSE(refused->has_value());
}

TEST_F(CommandsTest, WhileDrainingReadsAreServedAndWorkIsNot) {
  life_->instance.drain("SIGTERM");
  EXPECT_EQ(got(send(call(), marked({part({{"op", "status"}})})))["message"]["parts"][0]["data"]["draining"], true);
  const Json run = {{"op", "workflow.run"}, {"workflow", "w"}};
  EXPECT_EQ(refusal(send(call(), marked({part(run)}))).code, Code::kDraining);
}

TEST_F(CommandsTest, TheStatusShowsEachViewerTheirOwn) {
  const Json run = {{"op", "workflow.run"}, {"workflow", "w"}};
  got(send(call(kAlice), marked({part(run)})));
  got(send({.caller = {.viewer = kBob}}, marked({{{"text", "hi"}}})));
  const auto status = [&](const feed::Viewer& viewer) {
    return got(send(call(viewer), marked({part({{"op", "status"}})})))["message"]["parts"][0]["data"];
  };
  const Json alice = status(kAlice);
  EXPECT_EQ(alice["runs_total"], 1);
  EXPECT_EQ(alice["runs"][0]["status"], "completed");
  EXPECT_EQ(alice["conversations_total"], 0);
  EXPECT_EQ(alice["workflows"], Json::array({{{"name", "w"}}}));
  EXPECT_FALSE(alice.contains("store"));
  EXPECT_EQ(alice["seq"], life_->feed.window().newest);
  const Json bob = status(kBob);
  EXPECT_EQ(bob["runs_total"], 0);
  EXPECT_EQ(bob["conversations"].size(), 1U);
  const Json all = status(kOperator);
  EXPECT_EQ(all["runs"].size(), 1U);
  EXPECT_EQ(all["conversations"].size(), 1U);
  EXPECT_EQ(all["store"]["kind"], "memory");
  EXPECT_EQ(all["counters"]["runs_finished"], 1);
  const OpRow& row = *find_op("status");
  EXPECT_TRUE(schema::compile(row.result()).value().validate(all, "status").empty());
}

TEST_F(CommandsTest, TheStatusIsAsNewAsItsSeq) {
  const auto say = [&] {
    Json message = marked({{{"text", "hi"}}});
    message["contextId"] = "chat";
    got(send(call(), message));
  };
  const auto conversation = [&] {
    return got(send(call(), marked({part({{"op", "status"}})})))["message"]["parts"][0]["data"]["conversations"][0];
  };
  say();
  const Json before = conversation();
  say();
  const Json after = conversation();
  EXPECT_GT(after["messages"], before["messages"]);
  EXPECT_EQ(after, conversation());
}

// A workflow with the name d that declares the op d.go; its output is its inputs.
std::string declaring(const std::string& start, const std::string& more = "") {
  return "name: d\nstart: {a2a: {command: d.go" + start + "}}\n" + more +
         "steps: {a: {finish: {output: \"${{ .inputs }}\"}}}\n";
}

TEST_F(CommandsTest, AnOpOfAWorkflowRunsItWithTheArgumentsAsItsInputs) {
  reload({declaring("")});
  const Json task = got(send(call(), marked({part({{"op", "d.go"}, {"n", 7}, {"to", "x"}})})))["task"];
  EXPECT_EQ(task["status"]["state"], "TASK_STATE_COMPLETED");
  const std::string id = task["id"];
  EXPECT_EQ(task["artifacts"][0]["artifactId"], id + ".result");
  EXPECT_EQ(task["artifacts"][0]["parts"][0]["data"], Json({{"n", 7}, {"to", "x"}}));
  EXPECT_EQ(this->task(id)->command, "d.go");
  EXPECT_EQ(this->task(id)->link.kind, "run");
  EXPECT_EQ(this->task(id)->principal, "user:alice");
  const auto run = life_->runs.find(kAlice, this->task(id)->link.id, false);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->facts.workflow, "d");
  EXPECT_EQ(run->facts.start, "command");
}

TEST_F(CommandsTest, AnOpOfAWorkflowThatIsGoneIsUnknown) {
  const Json go = marked({part({{"op", "d.go"}})});
  EXPECT_EQ(refusal(send(call(), go)).code, Code::kUnknownOp);
  reload({declaring("")});
  EXPECT_EQ(got(send(call(), go))["task"]["status"]["state"], "TASK_STATE_COMPLETED");
  reload({});
  EXPECT_EQ(refusal(send(call(), go)).metadata, (Metadata{{"op", "d.go"}}));
}

TEST_F(CommandsTest, ArgumentsOfAWorkflowsOpAreHeldToItsSchemaBeforeItIsSaidWhoseItIs) {
  const auto fields = [&](const Json& command) {
    const Error error = refusal(send(call(), marked({part(command)})));
    EXPECT_EQ(error.code, Code::kInvalidCommandArgs) << error.message;
    EXPECT_EQ(error.metadata, (Metadata{{"op", "d.go"}}));
    std::vector<std::string> out;
    for (const FieldViolation& violation : error.violations) out.push_back(violation.field);
    std::ranges::sort(out);
    return out;
  };
  using Fields = std::vector<std::string>;
  const std::string at = "message.parts[0].data.agentd.";
  const std::string n = "{properties: {n: {type: integer}}, additionalProperties: false}";
  reload({declaring(", roles: [operator], schema: " + n)});
  EXPECT_EQ(fields({{"op", "d.go"}, {"n", "seven"}, {"more", 1}}), (Fields{at + "more", at + "n"}));
  reload({declaring(", roles: [operator]", "inputs: " + n + "\n")});
  EXPECT_EQ(fields({{"op", "d.go"}, {"n", "seven"}, {"more", 1}}), (Fields{at + "more", at + "n"}));
  // What the op lets through, the workflow may still refuse.
  reload({declaring(", schema: {type: object}", "inputs: " + n + "\n")});
  EXPECT_EQ(fields({{"op", "d.go"}, {"n", "seven"}}), Fields{at + "n"});
  EXPECT_EQ(life_->tasks.size(), 0U);
}

TEST_F(CommandsTest, WhoMayRunAnOpOfAWorkflowIsSaidByItsRolesByGrantsAndByTheWorkflow) {
  const auto granted = [](std::vector<std::string> grants) {
    return std::make_shared<const std::vector<std::string>>(std::move(grants));
  };
  const access::Caller user{.viewer = kAlice};
  access::Caller agent{.viewer = {.is_operator = false, .principal = "agent:robot"}, .role = config::Role::kAgent};
  access::Caller trusted = agent, narrowed = user;
  trusted.grants = granted({"d.*"});
  narrowed.grants = granted({"workflow.run:w"});
  const access::Caller the_operator{.viewer = kOperator, .role = config::Role::kOperator};
  const std::vector<const access::Caller*> everybody = {&user, &agent, &trusted, &narrowed, &the_operator};
  struct Row {
    std::string roles;
    std::vector<const access::Caller*> who;
    std::string told;
  };
  for (const auto& [roles, who, told] :
       std::vector<Row>{{"", {&user, &agent, &trusted}, "users and agents"},
                        {", roles: [user]", {&user, &trusted}, "users, and for whom a grant names it"},
                        {", roles: [agent]", {&agent, &trusted}, "agents, and for whom a grant names it"},
                        {", roles: [operator]", {}, "operators"}}) {
    const runtime::Setting setting{.workflows = {declaring(roles)}};
    reload(setting.workflows);
    for (const access::Caller* caller : everybody) {
      runtime::Call as = call();
      as.caller = *caller;
      const bool may = caller == &the_operator || std::ranges::find(who, caller) != who.end();
      const auto answer = send(as, marked({part({{"op", "d.go"}})}));
      EXPECT_EQ(declared_json(*caller, setting.parsed()).size(), may ? 1U : 0U) << roles;
      if (may) {
        EXPECT_EQ(got(answer)["task"]["status"]["state"], "TASK_STATE_COMPLETED") << roles;
        continue;
      }
      const Error error = refusal(answer);
      EXPECT_EQ(error.code, Code::kPermissionDenied) << roles << error.message;
      EXPECT_EQ(error.metadata, (Metadata{{"op", "d.go"}}));
      const bool by_workflow = caller == &narrowed && (roles.empty() || roles == ", roles: [user]");
      EXPECT_EQ(error.message, by_workflow ? "you may not run the workflow \"d\"; an operator can grant it to you"
                                           : "d.go is for " + told);
    }
  }
}

TEST_F(CommandsTest, TheCardNamesAnOpOfAWorkflowWithWhatItsArgumentsAreHeldTo) {
  const access::Caller user{.viewer = kAlice};
  const auto named = [&](const std::string& document) {
    return declared_json(user, runtime::Setting{.workflows = {document}}.parsed());
  };
  const std::string inputs = "inputs: {type: object, properties: {n: {}}}\n";
  EXPECT_EQ(named("name: w\nsteps: {a: {exec: [x]}}\n"), Json::array());
  EXPECT_EQ(named(declaring("")), Json::array({{{"op", "d.go"}, {"workflow", "d"}}}));
  EXPECT_EQ(named(declaring("", inputs))[0]["schema"],
            Json({{"type", "object"}, {"properties", {{"n", Json::object()}}}}));
  EXPECT_EQ(named(declaring(", schema: {type: object}", inputs))[0]["schema"], Json({{"type", "object"}}));
}

TEST_F(CommandsTest, TheStatusNamesTheKindsOfStartThatAWorkflowHas) {
  reload({declaring(""), "name: e\nsteps: {a: {exec: [x]}}\n"});
  const Json status = got(send(call(kOperator), marked({part({{"op", "status"}})})));
  const Json& workflows = status["message"]["parts"][0]["data"]["workflows"];
  ASSERT_EQ(workflows.size(), 2U);
  EXPECT_EQ(workflows[0]["starts"], Json::array({"a2a"}));
  EXPECT_EQ(workflows[1]["starts"], Json::array());
}

}  // namespace
}  // namespace agentd::command
