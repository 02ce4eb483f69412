#include "cli/commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "cli/captured_console.h"
#include "cli/exit.h"
#include "cli/interrupts.h"
#include "http/fake_server.h"

namespace agentd::cli {
namespace {

using http::FakeExchange;
using http::FakeServer;

Json task(const char* id, const char* state) {
  return {{"id", id}, {"contextId", "root"}, {"status", {{"state", state}, {"timestamp", "2026-01-01T00:00:00.000Z"}}}};
}
Json status_update(const char* state) { return {{"statusUpdate", {{"taskId", "t1"}, {"status", {{"state", state}}}}}}; }
Json piece(const char* text) {
  return {{"artifactUpdate",
           {{"taskId", "t1"}, {"artifact", {{"artifactId", "a"}, {"parts", {{{"text", text}}}}}}, {"append", true}}}};
}

TEST(Send, StreamsTheAnswerToStdoutAndItsProgressToStderr) {
  FakeServer server([](FakeExchange& exchange) {
    EXPECT_EQ(exchange.json()["method"], "SendStreamingMessage");
    exchange.begin_events();
    exchange.send_result({{"task", task("t1", "TASK_STATE_SUBMITTED")}});
    exchange.send_result(status_update("TASK_STATE_WORKING"));
    exchange.send_result(piece("hel"));
    exchange.send_result(piece("lo"));
    exchange.send_result(status_update("TASK_STATE_COMPLETED"));
    exchange.end_chunks();
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "hi"}, captured.console()), kOk);
  EXPECT_EQ(captured.out(), "hello\n");
  EXPECT_EQ(captured.err(), "agentd: task t1 in root\nagentd: submitted\nagentd: working\nagentd: completed\n");
}

TEST(Send, FindsItsTaskAgainAfterACut) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    if (exchange.json()["method"] == "SendStreamingMessage") {
      exchange.send_result({{"task", task("t1", "TASK_STATE_WORKING")}});
      exchange.send_result(piece("on"));
      exchange.send_result(piece("e "));
      exchange.send("99\r\ndata: {");
      return;
    }
    EXPECT_EQ(exchange.json()["method"], "SubscribeToTask");
    EXPECT_EQ(exchange.json()["params"]["id"], "t1");
    Json snapshot = task("t1", "TASK_STATE_WORKING");
    snapshot["artifacts"] = Json::parse(R"([{"artifactId":"a","parts":[{"text":"on"},{"text":"e "},{"text":"two"}]}])");
    exchange.send_result({{"task", snapshot}});
    exchange.send_result(status_update("TASK_STATE_FAILED"));
    exchange.end_chunks();
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "hi"}, captured.console()), kTaskFailed);
  EXPECT_EQ(captured.out(), "one two\n");
  EXPECT_NE(captured.err().find("the connection was cut; trying again"), std::string::npos);
}

TEST(Send, ReadsATaskThatEndedWhileTheConnectionWasCut) {
  FakeServer server([](FakeExchange& exchange) {
    const std::string method = exchange.json()["method"];
    if (method == "SendStreamingMessage") {
      exchange.begin_events();
      exchange.send_result({{"task", task("t1", "TASK_STATE_WORKING")}});
    } else if (method == "SubscribeToTask") {
      exchange.answer(200, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"it has ended"}})");
    } else {
      Json ended = task("t1", "TASK_STATE_COMPLETED");
      ended["artifacts"] = Json::parse(R"([{"artifactId":"a","parts":[{"text":"done"}]}])");
      exchange.answer_result(ended);
    }
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "hi"}, captured.console()), kOk);
  EXPECT_EQ(captured.out(), "done\n");
}

TEST(Send, StopsAtAQuestionAndSaysHowToAnswer) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result({{"task", task("t1", "TASK_STATE_INPUT_REQUIRED")}});
    exchange.wait_for_peer();
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "hi"}, captured.console()), kOk);
  EXPECT_NE(captured.err().find("agentd send --task t1 TEXT"), std::string::npos);
}

TEST(Send, StopsWhereSomebodyHasToSignInAndSaysThatItGoesOnByItself) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result({{"task", task("t1", "TASK_STATE_AUTH_REQUIRED")}});
    exchange.wait_for_peer();
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "hi"}, captured.console()), kOk);
  EXPECT_NE(captured.err().find("it goes on when somebody has signed in"), std::string::npos) << captured.err();
}

TEST(Send, AWorkflowActivatesTheCommandExtension) {
  FakeServer server([](FakeExchange& exchange) {
    EXPECT_NE(exchange.head().find("A2A-Extensions: https://agentd.dev/a2a/ext/command\r\n"), std::string::npos);
    EXPECT_EQ(exchange.json()["method"], "SendMessage");
    exchange.answer_result({{"task", task("t1", "TASK_STATE_WORKING")}});
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .workflow = "w", .inputs = {"a=1"}, .wait = false},
                     captured.console()),
            kOk);
  EXPECT_EQ(captured.out(), "t1\n") << "what a script needs";
}

TEST(Send, RefusalsAreToldWithTheirViolationsAndTheirExitCode) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.answer(200, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"wrong inputs","data":[
      {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"inputs.dir","description":"is missing"}]}]}})");
  });
  CapturedConsole captured;
  EXPECT_EQ(run_send({.daemon = {.url = server.url()}, .text = "x"}, captured.console()), kFailure);
  EXPECT_EQ(captured.err(), "agentd: wrong inputs\n  inputs.dir: is missing\n");

  CapturedConsole nobody;
  EXPECT_EQ(run_send({.daemon = {.url = "http://127.0.0.1:1"}, .text = "x"}, nobody.console()), kUnreachable);
  EXPECT_NE(nobody.err().find("agentd serve"), std::string::npos);

  FakeServer guarded([](FakeExchange& exchange) { exchange.answer(401, ""); });
  CapturedConsole stranger;
  EXPECT_EQ(run_send({.daemon = {.url = guarded.url()}, .text = "x"}, stranger.console()), kRefused);
  EXPECT_NE(stranger.err().find("AGENTD_TOKEN"), std::string::npos);
}

TEST(Tasks, PagesUntilTheLimit) {
  FakeServer server([](FakeExchange& exchange) {
    const Json params = exchange.json()["params"];
    EXPECT_EQ(params["status"], "TASK_STATE_WORKING");
    if (!params.contains("pageToken")) {
      EXPECT_EQ(params["pageSize"], 3);
      exchange.answer_result(
          {{"tasks", {task("t1", "TASK_STATE_WORKING"), task("t2", "TASK_STATE_WORKING")}}, {"nextPageToken", "p2"}});
    } else {
      EXPECT_EQ(params["pageToken"], "p2");
      EXPECT_EQ(params["pageSize"], 1);
      exchange.answer_result({{"tasks", {task("t3", "TASK_STATE_WORKING")}}, {"nextPageToken", "p3"}});
    }
  });
  CapturedConsole captured;
  EXPECT_EQ(
      run_tasks(
          {.daemon = {.url = server.url()}, .state = "TASK_STATE_WORKING", .context = "", .limit = 3, .json = true},
          captured.console()),
      kOk);
  const std::string out = captured.out();
  EXPECT_EQ(std::ranges::count(out, '\n'), 3) << out;
  EXPECT_NE(out.find("\"t3\""), std::string::npos);
}

TEST(Tasks, ShowAndCancelNameTheTask) {
  FakeServer server([](FakeExchange& exchange) {
    const bool cancel = exchange.json()["method"] == "CancelTask";
    EXPECT_EQ(exchange.json()["params"]["id"], "t1");
    exchange.answer_result(task("t1", cancel ? "TASK_STATE_CANCELED" : "TASK_STATE_WORKING"));
  });
  CapturedConsole show;
  EXPECT_EQ(run_task({.verb = TaskOptions::Verb::kShow, .daemon = {.url = server.url()}, .id = "t1"}, show.console()),
            kOk);
  EXPECT_NE(show.out().find("state    WORKING"), std::string::npos);
  CapturedConsole cancel;
  EXPECT_EQ(
      run_task({.verb = TaskOptions::Verb::kCancel, .daemon = {.url = server.url()}, .id = "t1"}, cancel.console()),
      kOk);
  EXPECT_EQ(cancel.out(), "t1 is CANCELED\n");
}

Json hello(std::uint64_t seq, bool resync) {
  return {{"hello", {{"seq", seq}, {"resume", 5}, {"resync", resync}, {"introspection", false}, {"version", "0.1.0"}}}};
}
Json event(std::uint64_t seq, const char* kind) {
  return {{"event", {{"seq", seq}, {"ts", 1}, {"kind", kind}, {"data", {{"id", "x1"}}}}}};
}

// A feed with a resync, two events and a revocation.
FakeServer feed_server() {
  return FakeServer([](FakeExchange& exchange) {
    if (exchange.json()["method"] == "ListTasks") {
      exchange.answer_result({{"tasks", {task("t1", "TASK_STATE_WORKING")}}, {"nextPageToken", ""}});
      return;
    }
    exchange.begin_events();
    exchange.send_result(hello(9, true));
    exchange.send_result(event(8, "run.removed"));
    exchange.send_result(event(9, "task.removed"));
    exchange.send_result({{"goodbye", {{"seq", 9}, {"reason", "revoked"}}}});
    exchange.end_chunks();
  });
}

TEST(Events, ALossIsSaidAndTheStateReadAgain) {
  const FakeServer server = feed_server();
  CapturedConsole captured;
  EXPECT_EQ(run_events({.daemon = {.url = server.url()}, .from = 5, .kinds = {"task.removed"}}, captured.console()),
            kRefused);
  const std::string out = captured.out();
  EXPECT_TRUE(out.starts_with("now           task                  t1  WORKING  in root\n")) << out;
  EXPECT_NE(out.find("task.removed          x1  is gone\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("run.removed"), std::string::npos) << "it was filtered out";
  for (const char* said : {"connected to", "events were lost", "the session was revoked"}) {
    EXPECT_NE(captured.err().find(said), std::string::npos) << said;
  }
}

TEST(Events, AsJsonEachLineIsAFrame) {
  const FakeServer server = feed_server();
  CapturedConsole captured;
  EXPECT_EQ(run_events({.daemon = {.url = server.url()}, .from = 5, .kinds = {}, .json = true}, captured.console()),
            kRefused);
  std::string keys;
  const std::string out = captured.out();
  for (std::string_view rest = out; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    keys += Json::parse(rest.substr(0, rest.find('\n'))).begin().key() + " ";
  }
  EXPECT_EQ(keys, "hello resync event event goodbye ");
}

TEST(Events, AReaderThatHasGoneEndsItQuietly) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(9, false));
    exchange.send_result(event(9, "task.removed"));
    exchange.wait_for_peer();
  });
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  Output out(ends[1]);
  CapturedConsole captured;
  const Interrupts interrupts(captured.stop());  // SIGPIPE is ignored
  Console console = captured.console();
  EXPECT_EQ(run_events({.daemon = {.url = server.url()}},
                       {.out = out, .err = console.err, .stop = console.stop, .credentials = console.credentials}),
            kOk);
  ::close(ends[1]);
}

TEST(Events, CtrlCIsADoneJob) {
  CapturedConsole captured;
  const Interrupts interrupts(captured.stop());  // before the server: its threads inherit the blocked signals
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(9, false));
    ::kill(::getpid(), SIGINT);
    exchange.wait_for_peer();
  });
  EXPECT_EQ(run_events({.daemon = {.url = server.url()}}, captured.console()), kOk);
}

}  // namespace
}  // namespace agentd::cli
