#include "cli/demo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "cli/captured_console.h"
#include "cli/daemon_child.h"
#include "cli/exit.h"
#include "client/stop.h"
#include "http/fake_server.h"

namespace agentd::cli {
namespace {

namespace fs = std::filesystem;
using http::FakeExchange;
using http::FakeServer;

Json task(const char* state) { return {{"id", "t1"}, {"contextId", "root"}, {"status", {{"state", state}}}}; }
Json event(std::uint64_t seq, const char* kind, const Json& data) {
  return {{"event", {{"seq", seq}, {"ts", 1}, {"kind", kind}, {"data", data}}}};
}

// In place of the daemon: a shell script that is given `serve -c FILE` and claims to listen where the test
// does.
class DemoTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "subject");
    fs::create_directories(root_ / "tmp");
    ::setenv("TMPDIR", (root_ / "tmp").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  std::string script(const std::string& body) {
    const fs::path path = root_ / "daemon";
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string listening_script(const std::string& url) {
    return script(
        fmt::format("[ -f \"$3\" ] || exit 9\n[ \"$AGENTD_A2A_LISTEN\" = http://127.0.0.1:0 ] || exit 8\n"
                    "echo 'starting' >&2\necho '{{\"msg\":\"listening\",\"url\":\"{}\"}}' >&2\nexec sleep 30",
                    url));
  }
  [[nodiscard]] bool left_nothing() const { return fs::is_empty(root_ / "tmp"); }
  [[nodiscard]] DemoOptions options() const { return {.folder = (root_ / "subject").string()}; }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

// The feed begins, the run is sent, the feed shows it to its end.
void serve_demo(FakeExchange& exchange, client::Stop& sent) {
  const Json request = exchange.json();
  exchange.begin_events();
  if (request["method"] == "SendStreamingMessage") {
    const Json command = request["params"]["message"]["parts"][0]["data"]["agentd"];
    EXPECT_EQ(command["workflow"], "repo-report");
    EXPECT_TRUE(command["inputs"]["dir"].get<std::string>().ends_with("/subject"));
    exchange.send_result({{"task", task("TASK_STATE_WORKING")}});
    Json done = task("TASK_STATE_COMPLETED");
    done["artifacts"] = Json::parse(R"([{"artifactId":"t1.result","parts":[{"data":{"commits":3}}]},
                                        {"artifactId":"r","name":"report.md","parts":[{"text":"# Report"}]}])");
    exchange.send_result({{"task", done}});
    exchange.end_chunks();
    sent.request();
    return;
  }
  exchange.send_result(
      Json::parse(R"({"hello":{"seq":0,"resume":0,"resync":false,"introspection":false,"version":"1"}})"));
  if (!sent.wait_ms(10'000)) return;
  exchange.send_result(event(1, "task", {{"task", task("TASK_STATE_WORKING")}}));
  exchange.send_result(event(2, "task", {{"task", task("TASK_STATE_COMPLETED")}}));
  exchange.send_result(event(3, "activity.removed", {{"id", "a"}}));
  exchange.wait_for_peer();
}

TEST_F(DemoTest, ShowsTheEventsThenTheReportThenWhatToTryAndLeavesNothing) {
  client::Stop sent;
  FakeServer server([&](FakeExchange& exchange) { serve_demo(exchange, sent); });
  CapturedConsole captured;
  EXPECT_EQ(run_demo(options(), captured.console(), listening_script(server.url())), kOk) << captured.err();
  const std::string out = captured.out();
  std::size_t at = 0;
  for (const char* piece :
       {"t1  WORKING", "t1  COMPLETED", "a  is gone", "\n# Report\n", "Try next:", "agentd serve"}) {
    at = out.find(piece, at);
    ASSERT_NE(at, std::string::npos) << piece << " in\n" << out;
  }
  EXPECT_EQ(out.find("commits"), std::string::npos) << "data is not a report where there is a text";
  EXPECT_NE(captured.err().find("is not a git repository"), std::string::npos);
  EXPECT_TRUE(left_nothing());
}

TEST_F(DemoTest, AsJsonItIsFramesAndThenTheReport) {
  client::Stop sent;
  FakeServer server([&](FakeExchange& exchange) { serve_demo(exchange, sent); });
  CapturedConsole captured;
  DemoOptions json = options();
  json.json = true;
  EXPECT_EQ(run_demo(json, captured.console(), listening_script(server.url())), kOk);
  const std::string out = captured.out();
  EXPECT_TRUE(out.starts_with("{\"hello\":")) << out;
  EXPECT_TRUE(out.ends_with("{\"report\":{\"state\":\"COMPLETED\",\"text\":\"# Report\"}}\n")) << out;
}

TEST_F(DemoTest, KeepLeavesTheFolderAndSaysWhere) {
  client::Stop sent;
  FakeServer server([&](FakeExchange& exchange) { serve_demo(exchange, sent); });
  CapturedConsole captured;
  DemoOptions keep = options();
  keep.keep = true;
  EXPECT_EQ(run_demo(keep, captured.console(), listening_script(server.url())), kOk);
  EXPECT_FALSE(left_nothing());
  EXPECT_NE(captured.err().find("kept " + (root_ / "tmp").string()), std::string::npos);
}

TEST_F(DemoTest, ADaemonThatDiesIsShownWithItsLastWords) {
  CapturedConsole captured;
  EXPECT_EQ(run_demo(options(), captured.console(), script("echo 'no disk' >&2; exit 1")), kFailure);
  EXPECT_NE(captured.err().find("no disk"), std::string::npos);
  EXPECT_NE(captured.err().find("has ended"), std::string::npos);
  EXPECT_TRUE(left_nothing());
}

TEST_F(DemoTest, CtrlCCleansUp) {
  CapturedConsole captured;
  FakeServer server([&](FakeExchange& exchange) {
    captured.stop().request();
    exchange.wait_for_peer();
  });
  EXPECT_EQ(run_demo(options(), captured.console(), listening_script(server.url())), kInterrupted);
  EXPECT_TRUE(left_nothing());
}

TEST_F(DemoTest, AFolderThatIsNoneIsAMistakeOfTheCommandLine) {
  CapturedConsole captured;
  EXPECT_EQ(run_demo({.folder = (root_ / "nowhere").string()}, captured.console(), "/bin/false"), kUsage);
  EXPECT_TRUE(left_nothing());
}

TEST_F(DemoTest, AChildThatIgnoresTheSignalIsKilledWithWhatItStarted) {
  const std::string program = script(
      "trap '' TERM\nsleep 30 &\necho $! > \"$1\"\necho '{\"msg\":\"listening\",\"url\":\"u\"}' >&2\nwhile "
      ":; do sleep 1; done");
  const fs::path note = root_ / "pid";
  const client::Stop stop;
  auto child = DaemonChild::start({.program = program, .arguments = {note.string()}, .environment = {}});
  ASSERT_TRUE(child);
  EXPECT_EQ((*child)->wait_until_listening(10'000, stop), "u");
  pid_t grandchild = 0;
  std::ifstream(note) >> grandchild;
  ASSERT_GT(grandchild, 1);
  pollfd ended{.fd = static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0)), .events = POLLIN, .revents = 0};
  ASSERT_GE(ended.fd, 0);
  EXPECT_EQ(::poll(&ended, 1, 0), 0) << "it runs";
  EXPECT_FALSE((*child)->stop(100));
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1) << "it runs on";
  ::close(ended.fd);
}

}  // namespace
}  // namespace agentd::cli
