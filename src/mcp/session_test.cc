// Sessions over a transport that is only the test's.
#include "mcp/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"

namespace agentd::mcp {
namespace {

constexpr std::int64_t kWatchdogMs = 30'000;

// What was said to the server, and how it ended.
struct Wire {
  std::vector<Json> sent;
  std::string version;
  bool open = true;
};

class TestTransport final : public Transport {
 public:
  explicit TestTransport(Wire& wire) : wire_(wire) {}
  ~TestTransport() override { wire_.open = false; }
  void send(const Json& message) override { wire_.sent.push_back(message); }
  void negotiated(const std::string& version) override { wire_.version = version; }

 private:
  Wire& wire_;
};

struct Heard {
  std::uint64_t id = 0;
  std::optional<Result<ToolResult>> result;
  std::vector<Elicitation> questions;
  std::vector<std::string> withdrawn;
};

class SessionTest : public testing::Test {
 protected:
  void begin(std::int64_t call_timeout_ms = 60'000, std::int64_t start_timeout_ms = 60'000) {
    config::McpServer config{.name = "test"};
    config.call_timeout_ms = call_timeout_ms;
    config.start_timeout_ms = start_timeout_ms;
    config.secret_headers = {{"Authorization", {.value = "Bearer s3cr3t", .source = "env X"}}};
    session_ = std::make_shared<Session>(
        loop_, config,
        Session::Events{.listed = [this](std::vector<Tool> tools) { lists_.push_back(std::move(tools)); },
                        .lost = [this](const std::string& why) { lost_.push_back(why); }});
    ears_ = session_->ears();
    session_->start(std::make_unique<TestTransport>(wire_));
  }
  void introduce(const Json& capabilities = {{"tools", Json::object()}}) {
    answer(last(), {{"protocolVersion", "2025-06-18"}, {"capabilities", capabilities}});
  }
  void begin_and_list(std::int64_t call_timeout_ms = 60'000, std::int64_t start_timeout_ms = 60'000) {
    begin(call_timeout_ms, start_timeout_ms);
    introduce();
    answer(last(), {{"tools", Json::array()}});
    ASSERT_EQ(lists_.size(), 1U);
  }

  [[nodiscard]] const Json& last() const { return wire_.sent.back(); }
  void hear(Json message, const Json& within = nullptr) {
    message["jsonrpc"] = "2.0";
    ears_.received(message, within);
  }
  void answer(const Json& request, const Json& result) { hear({{"id", request["id"]}, {"result", result}}); }
  void refuse(const Json& request) { hear({{"id", request["id"]}, {"error", {{"code", -32603}, {"message", "no"}}}}); }
  void ask(const Json& id, const Json& within = nullptr) {
    hear({{"id", id}, {"method", "elicitation/create"}, {"params", {{"message", "Sure?"}, {"requestedSchema", {}}}}},
         within);
  }
  [[nodiscard]] std::size_t count(const std::string& method) const {
    std::size_t found = 0;
    for (const Json& message : wire_.sent) found += message.value("method", "") == method ? 1 : 0;
    return found;
  }
  [[nodiscard]] static Json page(int from, int to, const std::string& next = "") {
    Json tools = Json::array();
    for (int i = from; i < to; ++i) {
      tools.push_back({{"name", fmt::format("tool{}", i)}, {"inputSchema", {{"type", "object"}}}});
    }
    Json result = {{"tools", tools}};
    if (!next.empty()) result["nextCursor"] = next;
    return result;
  }

  [[nodiscard]] std::unique_ptr<Heard> call(const std::string& owner = "ada") {
    auto heard = std::make_unique<Heard>();
    Heard* const of = heard.get();
    of->id = session_->call("tool", Json::object(),
                            {.owner = owner,
                             .elicit = [of](Elicitation question) { of->questions.push_back(std::move(question)); },
                             .withdraw = [of](const std::string& id) { of->withdrawn.push_back(id); },
                             .done = [of](Result<ToolResult> result) { of->result = std::move(result); }});
    return heard;
  }
  [[nodiscard]] bool await(const std::function<bool()>& condition) {
    const SystemClock clock;
    const std::int64_t deadline = clock.mono_ms() + kWatchdogMs;
    net::Timer look(loop_);
    const std::function<void()> again = [&] {
      if (condition() || clock.mono_ms() > deadline) return loop_.stop();
      look.arm(1, again);
    };
    look.arm(0, again);
    loop_.run();
    return condition();
  }

  net::Loop loop_;
  Wire wire_;
  Transport::Events ears_;
  std::vector<std::vector<Tool>> lists_;
  std::vector<std::string> lost_;
  std::shared_ptr<Session> session_;
};

TEST_F(SessionTest, IntroducesItselfAndListsTheTools) {
  begin();
  EXPECT_EQ(last()["jsonrpc"], "2.0");
  EXPECT_EQ(last()["method"], "initialize");
  EXPECT_EQ(last()["params"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(last()["params"]["capabilities"], Json::parse(R"({"elicitation": {}})"));
  EXPECT_EQ(last()["params"]["clientInfo"]["name"], "agentd");
  answer(last(), {{"protocolVersion", "2024-11-05"}, {"capabilities", {{"tools", Json::object()}}}});
  EXPECT_EQ(wire_.version, "2024-11-05");
  ASSERT_EQ(wire_.sent.size(), 3U);
  EXPECT_EQ(wire_.sent[1], Json::parse(R"({"method": "notifications/initialized", "jsonrpc": "2.0"})"));
  EXPECT_EQ(wire_.sent[2]["method"], "tools/list");
  EXPECT_FALSE(wire_.sent[2].contains("params"));
  answer(last(), page(0, 2, "more"));
  EXPECT_EQ(last()["params"], Json::parse(R"({"cursor": "more"})"));
  EXPECT_TRUE(lists_.empty()) << "not before all pages are there";
  answer(last(), page(2, 3));
  ASSERT_EQ(lists_.size(), 1U);
  EXPECT_EQ(lists_[0].size(), 3U);
}

TEST_F(SessionTest, AServerWithoutToolsIsNotAskedForThem) {
  begin();
  introduce({{"prompts", Json::object()}});
  EXPECT_EQ(count("tools/list"), 0U);
  ASSERT_EQ(lists_.size(), 1U);
  EXPECT_TRUE(lists_[0].empty());
}

TEST_F(SessionTest, IsLostOnce) {
  begin();
  refuse(last());
  ears_.closed("it went away");
  EXPECT_EQ(lost_, std::vector<std::string>{"the MCP server test refuses: no"});
}

TEST_F(SessionTest, IsLostWhenTheFirstListIsRefusedAndNotWhenALaterOneIs) {
  begin();
  introduce();
  refuse(last());
  EXPECT_EQ(lost_.size(), 1U);

  lost_.clear();
  begin_and_list();
  hear({{"method", "notifications/tools/list_changed"}});
  refuse(last());
  EXPECT_TRUE(lost_.empty());
  hear({{"method", "notifications/tools/list_changed"}});
  answer(last(), page(0, 1));
  EXPECT_EQ(lists_.size(), 2U);
}

TEST_F(SessionTest, ListsOnceMoreHoweverOftenTheListChangedMeanwhile) {
  begin_and_list();
  for (int i = 0; i < 100; ++i) hear({{"method", "notifications/tools/list_changed"}});
  EXPECT_EQ(count("tools/list"), 2U);
  answer(last(), page(0, 1));
  EXPECT_EQ(lists_.size(), 2U);
  EXPECT_EQ(count("tools/list"), 3U);
  answer(last(), page(0, 2));
  EXPECT_EQ(lists_.size(), 3U);
  EXPECT_EQ(count("tools/list"), 3U);
}

TEST_F(SessionTest, EndsAListThatDoesNotEnd) {
  begin();
  introduce();
  for (int i = 0; i < 1'000 && lists_.empty(); ++i) answer(last(), page(0, 0, "again"));
  EXPECT_EQ(lists_.size(), 1U);
  EXPECT_EQ(count("tools/list"), 100U);
}

TEST_F(SessionTest, IsLostWhenAllTheWayInTakesTooLongAlthoughEachAnswerComesInTime) {
  begin(60'000, 50);
  introduce();
  net::Timer step(loop_);
  const std::function<void()> again = [&] {
    answer(last(), page(0, 0, "again"));
    step.arm(2, again);
  };
  step.arm(2, again);
  ASSERT_TRUE(await([this] { return !lost_.empty() || !lists_.empty(); }));
  EXPECT_EQ(lost_, std::vector<std::string>{"it has not said what its tools are after 0.05 s"});
}

TEST_F(SessionTest, KeepsAThousandTools) {
  begin();
  introduce();
  answer(last(), page(0, 600, "more"));
  answer(last(), page(600, 1'200, "more"));
  ASSERT_EQ(lists_.size(), 1U);
  EXPECT_EQ(lists_[0].size(), 1'000U);
  EXPECT_EQ(lists_[0].back().name, "tool999");
}

TEST_F(SessionTest, AQuestionGoesToTheNewestCall) {
  begin_and_list();
  const auto older = call();
  const auto newer = call();
  ask("q1");
  EXPECT_TRUE(older->questions.empty());
  ASSERT_EQ(newer->questions.size(), 1U);
  newer->questions[0].answer({{"action", "decline"}});
  EXPECT_EQ(last()["id"], "q1");
  EXPECT_EQ(last()["result"], Json::parse(R"({"action": "decline"})"));
  answer({{"id", newer->id}}, {{"content", Json::array()}});
  ask(7);
  ASSERT_EQ(older->questions.size(), 1U);
  older->questions[0].answer({{"action", "cancel"}});
  EXPECT_EQ(last()["id"], 7);
}

TEST_F(SessionTest, AQuestionOutsideOfACallIsCancelled) {
  begin_and_list();
  ask("q1");
  EXPECT_EQ(last()["id"], "q1");
  EXPECT_EQ(last()["result"], Json::parse(R"({"action": "cancel"})"));
}

TEST_F(SessionTest, NobodyIsAskedWhatMayBeOfSomebodyElsesCall) {
  begin_and_list();
  const auto of_ada = call("ada");
  const auto of_bob = call("bob");
  ask("q1");
  EXPECT_TRUE(of_ada->questions.empty() && of_bob->questions.empty());
  EXPECT_EQ(last()["result"], Json::parse(R"({"action": "cancel"})"));
  ask("q2", of_ada->id);
  EXPECT_EQ(of_ada->questions.size(), 1U) << "the stream tells whose call it is";
  answer({{"id", of_bob->id}}, {{"content", Json::array()}});
  ask("q3");
  EXPECT_EQ(of_ada->questions.size(), 2U) << "all calls are of one person now";
}

TEST_F(SessionTest, AQuestionOnTheStreamOfAnotherRequestIsNotOfACall) {
  begin_and_list();
  const auto heard = call();
  ask("q1", 1U);
  EXPECT_TRUE(heard->questions.empty());
}

TEST_F(SessionTest, AsksAPersonSixteenQuestionsAtATime) {
  begin_and_list();
  const auto heard = call();
  for (int i = 0; i < 100; ++i) ask(i);
  EXPECT_EQ(heard->questions.size(), 16U);
  EXPECT_EQ(last()["id"], 99);
  EXPECT_EQ(last()["result"], Json::parse(R"({"action": "cancel"})"));
}

TEST_F(SessionTest, LogsAndErrorsHoldNoSecretOfTheServer) {
  begin_and_list();
  log::configure(log::Level::kDebug, log::Format::kAuto);
  hear({{"method", "notifications/message"}, {"params", {{"level", "info"}, {"data", {"got 'Bearer s3cr3t'"}}}}});
  log::configure(log::Level::kInfo, log::Format::kAuto);
  const auto logged = log::recent(0, 1'000, log::Level::kDebug, "an MCP server logs").lines;
  ASSERT_FALSE(logged.empty());
  EXPECT_EQ(logged.back().text["line"], R"({"level":"info","data":["got '***'"]})");

  const auto refused = call();
  hear({{"id", refused->id}, {"error", {{"code", -32000}, {"message", "Bearer s3cr3t is too old"}}}});
  ASSERT_TRUE(refused->result);
  EXPECT_EQ(refused->result->error().message, "the MCP server test refuses: *** is too old");
}

// All calls of a session have the same time, so one that was begun later times out later.
TEST_F(SessionTest, TheClockOfACallStandsStillWhileAPersonIsAsked) {
  begin_and_list(50);
  const auto asking = call();
  ask("q1");
  ask("q2");
  ASSERT_EQ(asking->questions.size(), 2U);
  asking->questions[0].answer({{"action", "cancel"}});
  const auto later = call();
  ASSERT_TRUE(await([&] { return later->result.has_value(); }));
  EXPECT_EQ(later->result->error().code, Code::kTimeout);
  EXPECT_FALSE(asking->result) << "it waits for a second answer";

  asking->questions[1].answer({{"action", "cancel"}});
  ASSERT_TRUE(await([&] { return asking->result.has_value(); })) << "its clock goes on";
  EXPECT_EQ(asking->result->error().code, Code::kTimeout);
}

TEST_F(SessionTest, TheClockGoesOnWhenTheServerDoesWithoutTheAnswer) {
  begin_and_list(50);
  const auto asking = call();
  ask("q1");
  hear({{"method", "notifications/cancelled"}, {"params", {{"requestId", "q1"}}}});
  ASSERT_TRUE(await([&] { return asking->result.has_value(); }));
  EXPECT_EQ(asking->withdrawn, std::vector<std::string>{asking->questions[0].id});
  const std::size_t said = wire_.sent.size();
  asking->questions[0].answer({{"action", "cancel"}});
  EXPECT_EQ(wire_.sent.size(), said) << "nobody waits for it";
}

TEST_F(SessionTest, ProgressBeginsTheClockAnew) {
  begin_and_list(200);
  const auto slow = call();
  const auto silent = call();
  net::Timer step(loop_);
  const std::function<void()> again = [&] {
    hear({{"method", "notifications/progress"}, {"params", {{"progressToken", slow->id}, {"progress", 1}}}});
    step.arm(5, again);
  };
  step.arm(5, again);
  ASSERT_TRUE(await([&] { return silent->result.has_value(); }));
  EXPECT_FALSE(slow->result);
}

TEST_F(SessionTest, PingsAServerAfterACallThatTookTooLong) {
  begin_and_list(20, 20);
  const auto first = call();
  ASSERT_TRUE(await([&] { return first->result.has_value(); }));
  EXPECT_EQ(count("notifications/cancelled"), 1U);
  EXPECT_EQ(last()["method"], "ping");
  answer(last(), Json::object());
  std::optional<std::size_t> lost_before;  // when the second takes too long, which is after the time of the first ping
  session_->call("tool", Json::object(), {.done = [&](const Result<ToolResult>&) { lost_before = lost_.size(); }});
  ASSERT_TRUE(await([&] { return !lost_.empty(); }));
  EXPECT_EQ(lost_before, 0U);
  EXPECT_EQ(lost_, std::vector<std::string>{"it does not answer any more"});
}

TEST_F(SessionTest, EndsItsTransportAtOnceAndItsCallsLater) {
  begin_and_list();
  std::string failed;
  std::uint64_t other = 0;  // which the first takes back when it fails
  session_->call("tool", Json::object(), {.done = [&](const Result<ToolResult>& result) {
                   failed = result.error().message;
                   session_->cancel(other);
                 }});
  const auto taken_back = call();
  other = taken_back->id;
  const auto kept = call();
  session_->end("the end");
  EXPECT_FALSE(wire_.open);
  EXPECT_TRUE(failed.empty());
  ASSERT_TRUE(await([&] { return kept->result.has_value(); }));
  EXPECT_EQ(kept->result->error().code, Code::kUnavailable);
  EXPECT_EQ(failed, "the MCP server test is not there: the end");
  EXPECT_FALSE(taken_back->result);
  EXPECT_TRUE(lost_.empty());
}

TEST_F(SessionTest, ACallMayBeTakenBackWhileItIsAsked) {
  begin_and_list();
  const std::string kept(100, 'k');  // in the callback, which is destroyed in it
  std::string seen;
  std::uint64_t id = 0;
  id = session_->call("tool", Json::object(),
                      {.elicit =
                           [&, kept](Elicitation) {
                             session_->cancel(id);
                             seen = kept;
                           },
                       .done = [](const Result<ToolResult>&) { FAIL(); }});
  ask("q1");
  EXPECT_EQ(seen, kept);
  EXPECT_EQ(last()["method"], "notifications/cancelled");
  EXPECT_EQ(last()["params"]["requestId"], id);
}

}  // namespace
}  // namespace agentd::mcp
