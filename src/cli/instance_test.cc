#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/op_fixture.h"
#include "cli/render_instance.h"

namespace agentd::cli {
namespace {

using Verb = AdminOptions::Verb;
using View = ViewOptions::View;

constexpr Style kPlain{.colour = false, .utc = true};

// As an operator gets it, with all that may be in it.
Json document() {
  return Json::parse(R"({
    "instance": "helper", "version": "0.1.0", "model": "scripted", "uptime_ms": 7500000, "draining": false, "paused": false,
    "store": {"kind": "sqlite", "degraded": false}, "inbox_pending": 2,
    "workflows": [{"name": "authors"}, {"name": "report"}], "runs_total": 14,
    "runs": [
      {"id": "run-2", "workflow": "report", "status": "running", "steps": {"done": 1, "skipped": 1, "running": 2, "pending": 3},
       "tokens": 12, "created": 60000, "finished": null, "error": null, "task": "t2"},
      {"id": "run-20", "workflow": "report", "status": "paused", "steps": {"pending": 1}, "created": 90000, "finished": null},
      {"id": "run-1", "workflow": "authors", "status": "failed", "steps": {"done": 1, "failed": 1}, "created": 0,
       "finished": 5, "error": "no disk"}],
    "activity": [
      {"id": "a1", "task": "t1", "ctx": "root", "phase": "tool", "tool": "read_file", "round": 2, "tokens_in": 10,
       "tokens_out": 3, "started_ms": 100000},
      {"id": "a2", "task": "t3", "ctx": "root", "phase": "waiting", "tool": null, "round": 1, "started_ms": 119000}],
    "subagents": [{"handle": "scout", "mode": "detached", "status": "running", "tokens": 9}],
    "children": [
      {"node": 1, "pid": 11, "kind": "step:run-2/weeks", "age_ms": 3000, "tokens": 0, "cancelled": false},
      {"node": 2, "pid": 12, "kind": "step:run-20/look", "age_ms": 4000, "tokens": 0, "cancelled": true},
      {"node": 3, "pid": 13, "kind": "step:run-2/authors", "age_ms": 1000, "tokens": 5, "cancelled": false},
      {"node": 4, "pid": 14, "kind": "subagent:scout", "age_ms": 0, "tokens": 0, "cancelled": false},
      {"node": 5, "pid": 15, "kind": "mcp:files", "age_ms": 200000, "tokens": 0, "cancelled": false}]})");
}

TEST(Instance, StatusIsWhatAnOperatorWantsAtAGlance) {
  EXPECT_EQ(render_status(document(), 120'000, kPlain),
            "name       helper\n"
            "version    0.1.0, up 2h\n"
            "state      running\n"
            "model      scripted\n"
            "store      sqlite\n"
            "turns      1 at work, 1 waiting\n"
            "runs       2 live, 14 in all\n"
            "messages   2 waiting\n"
            "workflows  authors, report\n"
            "\n"
            "RUN     WORKFLOW  STATUS   STEPS  SINCE  ERROR\n"
            "run-2   report    running  2/7    60s\n"
            "run-20  report    paused   0/1    30s\n"
            "run-1   authors   failed   2/2    2m     no disk\n");
}

TEST(Instance, WhatIsWrongOrUnusualHasAColour) {
  Json status = document();
  status["store"]["degraded"] = true;
  status["paused"] = true;
  const Style colour{.colour = true, .utc = true};
  EXPECT_NE(render_status(status, 0, colour).find("store      \x1b[31msqlite, degraded\x1b[0m\n"), std::string::npos);
  EXPECT_NE(render_status(status, 0, colour).find("state      \x1b[35mpaused\x1b[0m\n"), std::string::npos);
  status["draining"] = true;
  EXPECT_NE(render_status(status, 0, kPlain).find("state      draining\n"), std::string::npos)
      << "the end of pausing too";
}

TEST(Instance, OnlyTheNewestFewRunsAreShown) {
  Json status = document();
  for (int i = 0; i < 20; ++i) status["runs"].push_back(status["runs"][2]);
  EXPECT_EQ(std::ranges::count(render_status(status, 0, kPlain), '\n'), 16);
}

TEST(Instance, WorkIsATreeOfWhatWorksAndItsProcesses) {
  EXPECT_EQ(render_work(work_tree(document()), 120'000, kPlain),
            "turn  t1  tool  read_file  in root  round 2  age 20s  10 tokens in  3 out\n"
            "turn  t3  waiting  in root  round 1  age 1s\n"
            "run  run-2  report  running  steps 2/7  age 60s  12 tokens  for t2\n"
            "├─ step weeks  pid 11  age 3s\n"
            "└─ step authors  pid 13  age 1s  5 tokens\n"
            "run  run-20  report  paused  steps 0/1  age 30s\n"
            "└─ step look  pid 12  age 4s  cancelled\n"
            "subagent  scout  detached  running  9 tokens\n"
            "└─ subagent:scout  pid 14  age 0s\n"
            "mcp:files  pid 15  age 3m\n");
  EXPECT_EQ(render_work(work_tree(Json::object()), 0, kPlain), "nothing is at work\n");
}

TEST(Instance, NoShapeOfADocumentMakesItThrow) {
  for (const char* shape :
       {"null", "[]", "7", "{}", R"({"runs":[7,{}],"activity":[[]],"children":[1,{"kind":7}],"workflows":[3],
       "subagents":["x",{}],"store":[],"uptime_ms":-1,"runs_total":"x"})"}) {
    EXPECT_NE(render_status(Json::parse(shape), 0, kPlain), "") << shape;
    EXPECT_NE(render_work(work_tree(Json::parse(shape)), 0, kPlain), "") << shape;
  }
}

TEST(Instance, NothingOfTheDocumentDrivesTheTerminal) {
  const std::string evil = "x\x1b[2J\n\xE2\x80\xAE";
  Json status = document();
  for (Json& each : status) {
    if (each.is_string()) each = evil;
    if (!each.is_array()) continue;
    for (Json& one : each) {
      for (Json& member : one) {
        if (member.is_string()) member = evil;
      }
    }
  }
  const std::string text = render_status(status, 0, kPlain) + render_work(work_tree(status), 0, kPlain);
  for (const char* bad : {"\x1b", "\xE2\x80\xAE", "J\n"}) EXPECT_EQ(text.find(bad), std::string::npos) << text;
}

TEST(Instance, ViewsAskForTheirDocumentAndPrintItAsJsonToo) {
  const auto view = [](ViewOptions options, const Json& data) {
    return run_answered(std::move(options), read_reply(data), run_view);
  };
  const Done status = view({.view = View::kStatus, .json = true}, document());
  EXPECT_EQ(status.command, Json::parse(R"({"op":"status"})"));
  EXPECT_EQ(status.out, dump_json(document()) + "\n");
  EXPECT_TRUE(view({.view = View::kStatus}, document()).out.starts_with("name       helper\n"));
  EXPECT_EQ(Json::parse(view({.view = View::kWork, .json = true}, document()).out), work_tree(document()));
  EXPECT_TRUE(view({.view = View::kWork}, document()).out.starts_with("turn  t1"));
  const Json config = {{"agent", {{"name", "x\x1b\xE2\x80\xAE"}}}};
  const Done shown = view({.view = View::kConfig}, {{"config", config}});
  EXPECT_EQ(shown.command, Json::parse(R"({"op":"config"})"));
  EXPECT_EQ(shown.out, "{\n  \"agent\": {\n    \"name\": \"x\\u001b\\u202e\"\n  }\n}\n");
  EXPECT_EQ(view({.view = View::kConfig, .json = true}, {{"config", config}}).out, dump_json(config) + "\n");
}

TEST(Instance, AdminCommandsSendTheirOpAndSayWhatHoldsNow) {
  const auto admin = [](AdminOptions options, const Json& data) {
    return run_answered(std::move(options), work_reply(data), run_admin);
  };
  const Done pause = admin({.verb = Verb::kPause, .reason = "lunch"}, {{"ok", true}});
  EXPECT_EQ(pause.command, Json::parse(R"({"op":"admin.pause","reason":"lunch"})"));
  EXPECT_EQ(pause.out, "paused: nothing starts until 'agentd resume'\n");
  const Done one = admin({.verb = Verb::kPause, .run = "run-1"}, {{"ok", true}});
  EXPECT_EQ(one.command, Json::parse(R"({"op":"admin.pause","run":"run-1"})"));
  EXPECT_EQ(one.out, "run-1 is paused, until 'agentd resume --run run-1'\n");
  EXPECT_EQ(admin({.verb = Verb::kResume}, {{"ok", true}}).command, Json::parse(R"({"op":"admin.resume"})"));
  EXPECT_EQ(admin({.verb = Verb::kResume, .run = "run-1"}, {{"ok", true}}).out, "run-1 is resumed\n");
  const Done drain = admin({.verb = Verb::kDrain, .reason = "r"}, {{"ok", true}});
  EXPECT_EQ(drain.command, Json::parse(R"({"op":"admin.drain","reason":"r"})"));
  EXPECT_NE(drain.out.find("the daemon ends when"), std::string::npos);
  const Done json = admin({.verb = Verb::kResume, .json = true}, {{"ok", true}});
  EXPECT_EQ(json.out, "{\"ok\":true}\n");
}

TEST(Instance, AValueIsReadAsJsonAndElseAsAText) {
  const auto set = [](const char* value, const Json& result) {
    const AdminOptions options{.verb = Verb::kSet, .path = "a.b", .value = value};
    return run_answered(options, work_reply({{"path", "a.b"}, {"value", result}}), run_admin);
  };
  const Done on = set("true", true);
  EXPECT_EQ(on.command, Json::parse(R"({"op":"admin.set","path":"a.b","value":true})"));
  EXPECT_EQ(on.out, "a.b is true until the next reload\n");
  EXPECT_EQ(set("on", "on").command["value"], "on");
  EXPECT_EQ(set("[1]", nullptr).command["value"], Json::parse("[1]"));
  EXPECT_EQ(set("x", "\x1b").out, "a.b is \"\\u001b\" until the next reload\n");
}

TEST(Instance, WhoMayNotIsToldSoWithTheExitCodeOfARefusal) {
  http::FakeServer server([](http::FakeExchange& exchange) {
    exchange.answer(403,
                    R"({"jsonrpc":"2.0","id":1,"error":{"code":-31403,"message":"admin.drain is for operators","data":[
      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED"}]}})");
  });
  CapturedConsole captured;
  EXPECT_EQ(run_admin({.verb = Verb::kDrain, .daemon = {.url = server.url()}}, captured.console()), kRefused);
  EXPECT_EQ(captured.err(), "agentd: " + server.url() + " does not allow it: admin.drain is for operators\n");
}

}  // namespace
}  // namespace agentd::cli
