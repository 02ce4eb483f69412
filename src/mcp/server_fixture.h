// What the tests of a server share: a loop, the fake server as a program, and what a call of it came to.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/client.h"
#include "mcp/server.h"
#include "net/loop.h"
#include "process/child.h"

namespace agentd::mcp {

inline constexpr std::int64_t kWatchdogMs = 30'000;

// A call, and what was heard of it.
struct Heard {
  Call call;
  std::optional<Result<ToolResult>> result;
  std::vector<std::string> progress;
  std::vector<Elicitation> questions;
};

class ServerTest : public testing::Test {
 protected:
  static config::McpServer fake(std::vector<std::string> arguments = {}) {
    config::McpServer config{.name = "fake", .command = {"python3", AGENTD_FAKE_MCP_SERVER}};
    config.command.insert(config.command.end(), arguments.begin(), arguments.end());
    return config;
  }

  void start(config::McpServer config = fake()) {
    server_ = std::make_unique<Server>(
        loop_, children_, client_, std::move(config),
        Server::Events{.tools_changed = [this] { ++changes_; },
                       .child_started = [this](process::ChildId, int pid) { pids_.push_back(pid); },
                       .child_ended = [this](process::ChildId) { ++ended_; }});
  }
  void start_and_await(config::McpServer config = fake()) {
    start(std::move(config));
    ASSERT_TRUE(await([this] { return server_->state() == "ready"; })) << server_->state();
  }

  // Runs the loop until the condition holds; false when it does not in time.
  [[nodiscard]] bool await(const std::function<bool()>& condition) {
    const SystemClock clock;
    const std::int64_t deadline = clock.mono_ms() + kWatchdogMs;
    net::Timer look(loop_);
    const std::function<void()> again = [&] {
      if (condition() || clock.mono_ms() > deadline) return loop_.stop();
      look.arm(2, again);
    };
    look.arm(0, again);
    loop_.run();
    return condition();
  }

  [[nodiscard]] std::unique_ptr<Heard> begin(const std::string& tool, Json arguments = Json::object()) {
    auto heard = std::make_unique<Heard>();
    Heard* const of = heard.get();
    of->call = server_->call(tool, std::move(arguments),
                             {.progress =
                                  [of](double progress, double total, const std::string& message) {
                                    of->progress.push_back(fmt::format("{}: {} of {}", message, progress, total));
                                  },
                              .elicit = [of](Elicitation question) { of->questions.push_back(std::move(question)); },
                              .done = [of](Result<ToolResult> result) { of->result = std::move(result); }});
    EXPECT_FALSE(of->result) << "called within call()";
    return heard;
  }
  [[nodiscard]] Result<ToolResult> finish(const Heard& heard) {
    if (!await([&] { return heard.result.has_value(); })) return fail(Code::kInternal, "no result in time");
    return *heard.result;
  }
  [[nodiscard]] Result<ToolResult> call(const std::string& tool, Json arguments = Json::object()) {
    const auto heard = begin(tool, std::move(arguments));
    return finish(*heard);
  }
  // The text of a call, or its error.
  [[nodiscard]] std::string text_of(const std::string& tool, Json arguments = Json::object()) {
    const auto result = call(tool, std::move(arguments));
    return result ? result->text : "error: " + result.error().message;
  }

  net::Loop loop_;
  process::Children children_{loop_};
  http::Client client_{loop_};
  int changes_ = 0, ended_ = 0;
  std::vector<int> pids_;
  std::unique_ptr<Server> server_;
};

}  // namespace agentd::mcp
