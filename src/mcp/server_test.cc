#include "mcp/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/log.h"
#include "mcp/server_fixture.h"

namespace agentd::mcp {
namespace {

bool has_tool(const Server& server, const std::string& name) {
  return std::ranges::find(server.tools(), name, &Tool::name) != server.tools().end();
}

TEST_F(ServerTest, ListsAllPagesOfItsToolsOnceItIsThere) {
  start();
  EXPECT_EQ(server_->state(), "starting");
  EXPECT_TRUE(server_->tools().empty());
  ASSERT_TRUE(await([this] { return changes_ == 1; }));
  EXPECT_EQ(server_->state(), "ready");
  EXPECT_EQ(server_->tools().size(), 21U);
  const Tool& echo = server_->tools().front();
  EXPECT_EQ(echo.name, "echo");
  EXPECT_EQ(echo.description, "does echo");
  EXPECT_EQ(echo.schema["required"], Json::array({"text"}));
  EXPECT_TRUE(echo.read_only);
  EXPECT_FALSE(server_->tools()[1].read_only);
  EXPECT_EQ(pids_.size(), 1U);
}

TEST_F(ServerTest, ShowsOnlyToolsThatTheConfigurationLetsBy) {
  config::McpServer config = fake();
  config.tools = {"e*o", "ask_*"};
  start_and_await(config);
  std::vector<std::string> names;
  for (const Tool& tool : server_->tools()) names.push_back(tool.name);
  EXPECT_EQ(names, (std::vector<std::string>{"echo", "ask_and_withdraw"}));
  EXPECT_EQ(text_of("hang"), "error: the MCP server fake has no tool 'hang'");
}

TEST_F(ServerTest, CallsAToolAndGivesItsContent) {
  start_and_await();
  const auto result = call("echo", {{"text", "hello"}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->text, "hello");
  EXPECT_EQ(result->content, Json::parse(R"([{"type": "text", "text": "hello"}])"));
  EXPECT_FALSE(result->is_error);

  const auto failed = call("fail");
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->text, "no such file");
  EXPECT_TRUE(failed->is_error);
}

TEST_F(ServerTest, ServesSeveralCallsAtOnce) {
  start_and_await();
  const auto hanging = begin("hang");
  const auto first = begin("echo", {{"text", "first"}});
  const auto second = begin("echo", {{"text", "second"}});
  EXPECT_EQ(finish(*second)->text, "second");
  EXPECT_EQ(finish(*first)->text, "first");
  EXPECT_FALSE(hanging->result);
}

TEST_F(ServerTest, RefusesArgumentsThatDoNotFitBeforeTheServerSeesThem) {
  start_and_await();
  const auto result = call("echo", {{"text", 7}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidParams);
  EXPECT_NE(result.error().message.find("arguments.text"), std::string::npos) << result.error().message;
  EXPECT_EQ(text_of("ping", {{"anything", 7}}), "{}") << "a schema that cannot be held is left to the server";
}

TEST_F(ServerTest, TellsWhatTheServerRefuses) {
  start_and_await();
  const auto params = call("error", {{"code", -32602}});
  ASSERT_FALSE(params);
  EXPECT_EQ(params.error().code, Code::kInvalidParams);
  EXPECT_EQ(params.error().message, "the MCP server fake refuses: I would rather not");
  const auto inner = call("error", {{"code", -32603}});
  ASSERT_FALSE(inner);
  EXPECT_EQ(inner.error().code, Code::kUnavailable);
}

TEST_F(ServerTest, PassesOverWhatIsNoMessage) {
  start_and_await();
  EXPECT_EQ(text_of("garbage"), "after garbage");
  EXPECT_EQ(text_of("stranger"), "mine");
  EXPECT_EQ(text_of("twice"), "once");
  EXPECT_EQ(text_of("echo", {{"text", "still there"}}), "still there");
  EXPECT_EQ(pids_.size(), 1U);
}

TEST_F(ServerTest, TakesAFloodAndABatch) {
  start_and_await();
  EXPECT_EQ(text_of("flood"), "after the flood");
  const auto batch = call("batch");
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->content, Json::array());
}

TEST_F(ServerTest, CutsLongTextAndKeepsLongContent) {
  start_and_await();
  const std::string cut = text_of("large", {{"bytes", 300'000}});
  EXPECT_EQ(cut.substr(256U << 10U), "…(+37856 bytes)");
  const auto whole = call("large", {{"bytes", (8U << 20U) - 200}});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->content[0]["text"].get_ref<const std::string&>().size(), (8U << 20U) - 200);
}

TEST_F(ServerTest, AnswersWhatTheServerAsks) {
  start_and_await();
  EXPECT_EQ(text_of("ping"), "{}");
  EXPECT_EQ(text_of("sample"), "-32601") << "a method that the client does not have";
}

TEST_F(ServerTest, TellsProgress) {
  start_and_await();
  const auto heard = begin("progress");
  EXPECT_EQ(finish(*heard)->text, "done");
  EXPECT_EQ(heard->progress, (std::vector<std::string>{"step 1: 1 of 3", "step 2: 2 of 3", "step 3: 3 of 3"}));
}

TEST_F(ServerTest, ACallMayBeDestroyedWhileItIsToldOfProgress) {
  start_and_await();
  Call call;
  bool told = false, done = false;
  std::string kept(100, 'k');  // in the callback, which is destroyed in it
  call = server_->call("progress", Json::object(),
                       {.progress =
                            [&call, &told, kept](double, double, const std::string&) {
                              call = {};
                              told = kept.ends_with('k');
                            },
                        .done = [&done](const Result<ToolResult>&) { done = true; }});
  ASSERT_TRUE(await([&] { return told; }));
  EXPECT_EQ(text_of("cancelled"), "1");
  EXPECT_FALSE(done);
}

TEST_F(ServerTest, ListsAgainWhenTheServerSaysThatItsToolsChanged) {
  start_and_await();
  EXPECT_FALSE(has_tool(*server_, "grown"));
  EXPECT_EQ(text_of("grow"), "grown");
  ASSERT_TRUE(await([this] { return changes_ == 2; }));
  EXPECT_TRUE(has_tool(*server_, "grown"));
  EXPECT_EQ(text_of("grown"), "I am grown");
}

TEST_F(ServerTest, TellsTheServerOfACallThatIsTakenBack) {
  start_and_await();
  auto hanging = begin("hang");
  hanging.reset();
  EXPECT_EQ(text_of("cancelled"), "1");
}

TEST_F(ServerTest, AsksAPersonForTheServer) {
  start_and_await();
  const auto heard = begin("ask");
  ASSERT_TRUE(await([&] { return heard->questions.size() == 1; }));
  EXPECT_EQ(heard->questions[0].message, "Which colour?");
  EXPECT_TRUE(heard->questions[0].schema["properties"].contains("colour"));
  heard->questions[0].answer({{"action", "accept"}, {"content", {{"colour", "red"}}}});
  const auto result = finish(*heard);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(Json::parse(result->text), Json::parse(R"({"action": "accept", "content": {"colour": "red"}})"));
}

TEST_F(ServerTest, GivesTheProgramItsEnvironmentAndNothingElseOfTheDaemons) {
  config::McpServer config = fake();
  config.env = {{"HOME", "/nowhere"}, {"COLOUR", "red"}};
  config.secret_env = {{"FAKE_TOKEN", {.value = "s3cr3t-t0k3n", .source = "env X"}}};
  config.cwd = "/";
  ::setenv("FAKE_OF_THE_DAEMON", "x", 1);
  start_and_await(config);
  const Json found = Json::parse(text_of("environment"));
  EXPECT_EQ(found["environment"]["HOME"], "/nowhere");
  EXPECT_EQ(found["environment"]["COLOUR"], "red");
  EXPECT_EQ(found["environment"]["FAKE_TOKEN"], "s3cr3t-t0k3n");
  EXPECT_TRUE(found["environment"].contains("PATH"));
  EXPECT_FALSE(found["environment"].contains("FAKE_OF_THE_DAEMON"));
  EXPECT_EQ(found["cwd"], "/");
}

TEST_F(ServerTest, EndsItsProgramAndFailsItsCallsWhenItIsDestroyed) {
  start_and_await();
  const auto hanging = begin("hang");
  const auto taken_back = begin("hang");
  server_.reset();
  EXPECT_FALSE(hanging->result) << "called within the destructor";
  taken_back->call = {};
  const auto result = finish(*hanging);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the MCP server fake is not there: it was taken out of the configuration");
  ASSERT_TRUE(await([this] { return ended_ == 1; }));
  EXPECT_FALSE(taken_back->result);
}

}  // namespace
}  // namespace agentd::mcp
