#include <gtest/gtest.h>

#include "cli/captured_console.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "http/fake_server.h"

namespace agentd::cli {
namespace {

using http::FakeExchange;
using http::FakeServer;

std::string offered(const CompleteOptions& options) {
  CapturedConsole captured;
  EXPECT_EQ(run_complete(options, captured.console()), kOk);
  EXPECT_EQ(captured.err(), "");
  return captured.out();
}

// A daemon whose status has conversations of these names.
std::string offered_contexts(std::initializer_list<const char*> contexts, const std::string& prefix) {
  Json list = Json::array();
  for (const char* context : contexts) list.push_back({{"contextId", context}});
  FakeServer server([&](FakeExchange& exchange) {
    const Json parts = Json::array({{{"data", {{"conversations", list}}}}});
    exchange.answer_result({{"message", {{"parts", parts}}}});
  });
  return offered({.daemon = {.url = server.url()}, .prefix = prefix, .ids = Ids::kContexts});
}

TEST(Complete, OffersWhatBeginsAsTypedOnce) {
  EXPECT_EQ(offered({.prefix = "re", .words = {"resume", "reload", "set"}}), "reload\nresume\n");
  EXPECT_EQ(offered_contexts({"root", "review", "root"}, "ro"), "root\n");
}

TEST(Complete, AnIdIsOneWordOfTheShellAndRunsNothing) {
  EXPECT_EQ(offered_contexts({"a $(id) 'b\"", "é:=`x`", "*~#"}, ""),
            "\\*\\~\\#\na\\ \\$\\(id\\)\\ \\'b\\\"\né\\:\\=\\`x\\`\n");
  EXPECT_EQ(offered_contexts({"a b", "ab"}, "a\\ "), "a\\ b\n") << "typed as it is to be read";
}

TEST(Complete, AnIdThatDrivesATerminalOrLooksLikeAnOptionIsNotOffered) {
  EXPECT_EQ(offered_contexts({"x\x1b[2J", "a\nb", "--url=http://evil", "", "\xE2\x80\xAE", "fine"}, ""), "fine\n");
}

TEST(Complete, TasksAreAskedForAsTasks) {
  FakeServer server([](FakeExchange& exchange) {
    EXPECT_EQ(exchange.json()["method"], "ListTasks");
    exchange.answer_result({{"tasks", Json::array({{{"id", "t1"}}, 7, {{"id", 8}}})}});
  });
  EXPECT_EQ(offered({.daemon = {.url = server.url()}, .ids = Ids::kTasks}), "t1\n");
}

TEST(Complete, WithoutADaemonOrWithARefusalItIsSilent) {
  EXPECT_EQ(offered({.daemon = {.url = "http://127.0.0.1:1"}, .words = {"word"}, .ids = Ids::kRuns}), "word\n");
  EXPECT_EQ(offered({.daemon = {.url = "nonsense"}, .ids = Ids::kTasks}), "");
  FakeServer closed([](FakeExchange& exchange) { exchange.answer(401, ""); });
  EXPECT_EQ(offered({.daemon = {.url = closed.url()}, .ids = Ids::kSessions}), "");
  FakeServer strange([](FakeExchange& exchange) { exchange.answer_result({{"tasks", 7}}); });
  EXPECT_EQ(offered({.daemon = {.url = strange.url()}, .ids = Ids::kTasks}), "");
}

}  // namespace
}  // namespace agentd::cli
