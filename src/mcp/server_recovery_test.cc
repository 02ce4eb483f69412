// A server that ends, hangs or cannot be there at all, and what becomes of its calls.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "mcp/server_fixture.h"

namespace agentd::mcp {
namespace {

std::uint64_t newest_line() { return log::recent(0, 1, log::Level::kInfo, "").newest; }

// The waits before a new attempt that were announced after that line of the log.
std::vector<std::int64_t> waits_after(std::uint64_t line) {
  std::vector<std::int64_t> waits;
  for (const log::Line& lost : log::recent(line, 100, log::Level::kWarn, "an MCP server is not there").lines) {
    waits.push_back(lost.text["again_in_ms"]);
  }
  return waits;
}

TEST_F(ServerTest, FailsTheCallsOfAServerThatDiesAndSaysWhyWithoutItsSecrets) {
  config::McpServer config = fake();
  config.secret_env = {{"FAKE_TOKEN", {.value = "s3cr3t-t0k3n", .source = "env X"}}};
  start_and_await(config);
  const auto hanging = begin("hang");
  const auto died = call("die");
  const std::string why =
      "the MCP server fake is not there: exit status 3; its last words: out of memory, token is ***";
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().code, Code::kUnavailable);
  EXPECT_EQ(died.error().message, why);
  ASSERT_TRUE(hanging->result);
  EXPECT_EQ(hanging->result->error().message, why);

  EXPECT_EQ(server_->tools().size(), 21U) << "they stay listed";
  EXPECT_EQ(text_of("echo", {{"text", "too early"}}), "error: " + why);
}

TEST_F(ServerTest, StartsAServerAgainThatDied) {
  start_and_await();
  EXPECT_FALSE(call("die"));
  ASSERT_TRUE(await([this] { return server_->state() == "ready"; }));
  EXPECT_EQ(text_of("echo", {{"text", "back"}}), "back");
  EXPECT_EQ(pids_.size(), 2U);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(changes_, 1) << "its tools are the same";
}

TEST_F(ServerTest, WaitsLongerEachTime) {
  const std::uint64_t before = newest_line();
  start(fake({"no configuration"}));
  ASSERT_TRUE(await([this] { return ended_ == 3; }));
  EXPECT_EQ(server_->state(), "exit status 1; its last words: no configuration");
  EXPECT_EQ(waits_after(before), (std::vector<std::int64_t>{500, 1'000, 2'000}));
  EXPECT_TRUE(server_->tools().empty());
}

TEST_F(ServerTest, AServerThatDiesSoonAfterItWasThereIsNotStartedFasterForIt) {
  const std::uint64_t before = newest_line();
  start_and_await();
  EXPECT_FALSE(call("die"));
  ASSERT_TRUE(await([this] { return server_->state() == "ready"; }));
  EXPECT_FALSE(call("die"));
  EXPECT_EQ(waits_after(before), (std::vector<std::int64_t>{500, 1'000}));
}

TEST_F(ServerTest, SaysWhyAServerIsNotThere) {
  config::McpServer missing = fake();
  missing.command = {"no-such-mcp-server"};
  start(missing);
  ASSERT_TRUE(await([this] { return server_->state() != "starting"; }));
  EXPECT_EQ(server_->state(), "no-such-mcp-server: not found");

  start(fake({"refuse"}));
  ASSERT_TRUE(await([this] { return server_->state() != "starting"; }));
  EXPECT_EQ(server_->state(), "the MCP server fake refuses: not today");

  start(fake({"other-revision"}));
  ASSERT_TRUE(await([this] { return server_->state() != "starting"; }));
  EXPECT_EQ(server_->state(), "it speaks revision '1999-01-01' of MCP, and not 2025-06-18");
}

TEST_F(ServerTest, EndsAServerThatDoesNotIntroduceItself) {
  config::McpServer config = fake({"mute"});
  config.start_timeout_ms = 50;
  start(config);
  ASSERT_TRUE(await([this] { return server_->state() == "it has not said what its tools are after 0.05 s"; }));
  ASSERT_TRUE(await([this] { return ended_ == 1; }));
}

TEST_F(ServerTest, ACallThatTakesTooLongFailsAndTheServerStays) {
  config::McpServer config = fake();
  config.call_timeout_ms = 1'000;
  start_and_await(config);
  const auto hanging = call("hang");
  ASSERT_FALSE(hanging);
  EXPECT_EQ(hanging.error().code, Code::kTimeout);
  EXPECT_EQ(hanging.error().message, "the MCP server fake gave no answer in 1 s");
  EXPECT_EQ(text_of("cancelled"), "1");
  EXPECT_EQ(pids_.size(), 1U);
}

TEST_F(ServerTest, StartsAServerAgainThatDoesNotAnswerAnyMore) {
  config::McpServer config = fake();
  config.call_timeout_ms = 100;
  config.start_timeout_ms = 2'000;
  start_and_await(config);
  EXPECT_FALSE(call("deaf"));
  ASSERT_TRUE(await([this] { return server_->state() == "it does not answer any more"; }));
  ASSERT_TRUE(await([this] { return ended_ == 1; }));
  ASSERT_TRUE(await([this] { return server_->state() == "ready"; }));
}

TEST_F(ServerTest, EndsAServerThatDoesNotReadWhatItIsTold) {
  start_and_await();
  const auto asleep = begin("asleep");
  std::vector<std::unique_ptr<Heard>> unread;
  for (int i = 0; i < 9; ++i) unread.push_back(begin("grow", {{"padding", std::string(1U << 20U, 'p')}}));
  const auto result = finish(*asleep);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the MCP server fake is not there: it did not read what it was told");
}

}  // namespace
}  // namespace agentd::mcp
