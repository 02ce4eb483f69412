#include "command/commands.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace agentd::command
