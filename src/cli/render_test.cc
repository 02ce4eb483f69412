#include "cli/render.h"

#include <gtest/gtest.h>

#include <map>

#include "cli/paint.h"
#include "cli/printable.h"

namespace agentd::cli {
namespace {

constexpr Style kPlain{.colour = false, .utc = true};

std::string rendered(const char* kind, const char* data, const Style& style = kPlain) {
  return render_event({{"seq", 7}, {"ts", 1769850487123}, {"kind", kind}, {"data", Json::parse(data)}}, style);
}

// The line without its time and kind, which are checked to be there.
std::string essentials(const char* kind, const char* data) {
  const std::string line = rendered(kind, data);
  const std::string front = "09:08:07.123  " + padded(kind, 20) + "  ";
  EXPECT_TRUE(line.starts_with(front)) << line;
  return line.substr(std::min(front.size(), line.size()));
}

TEST(Render, SaysTheEssentialsOfEachKind) {
  const std::map<std::string, std::pair<const char*, const char*>> expected = {
      {"task",
       {R"({"task":{"id":"0f8fad5b-d9cb-469f-a165-70867728950e","contextId":"root","status":{"state":"TASK_STATE_WORKING",
           "message":{"parts":[{"text":"reading"},{"text":"files"}]}}}})",
        "0f8fad5b…  WORKING  in root  \"reading files\""}},
      {"task.removed", {R"({"id":"t1"})", "t1  is gone"}},
      {"run",
       {R"({"id":"r1","workflow":"report","status":"failed","start":"command","steps":{"done":3,"failed":1,"pending":0},
           "tokens":12,"created":1,"updated":2,"finished":3,"output":null,"error":"no disk","task":"t","principal":null})",
        "report  r1  failed  steps 3 done, 1 failed  12 tokens  no disk"}},
      {"run.removed", {R"({"id":"r1"})", "r1  is gone"}},
      {"step",
       {R"({"run":"r1","step":"weeks","phase":"done","status":"failed","attempt":2,"tokens":0,"err":"exit 1"})",
        "weeks  of r1  failed  attempt 2  exit 1"}},
      {"conversation",
       {R"({"id":"root","contextId":"root","kind":"root","version":3,"messages":4,"est_tokens":50,"turns":2,
           "principal":null,"skills":["git","web"],"plan":null,"updated":1})",
        "root  root  4 messages  2 turns  50 tokens  skills git, web"}},
      {"conversation.removed", {R"({"id":"ctx-1"})", "ctx-1  is gone"}},
      {"subagent",
       {R"({"handle":"scout","mode":"detached","status":"crashed","tokens":9,"error":"signal 9","updated":1})",
        "scout  detached  crashed  9 tokens  signal 9"}},
      {"subagent.removed", {R"({"id":"scout"})", "scout  is gone"}},
      {"child",
       {R"({"node":4,"pid":4711,"kind":"step:r1/weeks","age_ms":3000,"tokens":0,"cancelled":true})",
        "#4  step:r1/weeks  pid 4711  age 3s  cancelled"}},
      {"child.removed", {R"({"id":"4"})", "4  is gone"}},
      {"activity",
       {R"({"id":"a","task":"t1","ctx":"root","phase":"tool","tool":"read_file","round":2,"tokens_in":10,"tokens_out":3,
           "started_ms":1,"updated_ms":2})",
        "tool  read_file  for t1  round 2  10 tokens in  3 out"}},
      {"activity.removed", {R"({"id":"a"})", "a  is gone"}},
      {"status",
       {R"({"instance":"helper","model":"scripted","version":"0.1.0","draining":true,"inbox_pending":2,"counters":{},
           "budget":{},"store":{"kind":"sqlite","degraded":true},"values":{},"skill_prefix":"/"})",
        "helper  model scripted  version 0.1.0  store sqlite  store degraded  draining  2 waiting"}},
      {"lifecycle", {R"({"paused":true,"reason":"lunch"})", "paused  lunch"}},
      {"config",
       {R"({"paths":["agent.approval","log.level"],"source":"reload"})",
        "changed  agent.approval, log.level  by reload"}},
      {"audit",
       {R"({"ts":1,"principal":"operator","role":"operator","action":"admin.drain","target":{"run":"r1"},"outcome":"ok"})",
        "operator  admin.drain  {\"run\":\"r1\"}  ok"}},
      {"auth",
       {R"({"event":"pending","client_id":"tui","scope":"user","user_code":"BCDF-GHJK","peer":"10.0.0.9"})",
        "pending  tui  as user  BCDF-GHJK  from 10.0.0.9"}},
  };
  ASSERT_EQ(expected.size(), 18U);
  for (const auto& kind : event_kinds()) {
    ASSERT_TRUE(expected.contains(kind)) << kind;
    EXPECT_EQ(essentials(kind.c_str(), expected.at(kind).first), expected.at(kind).second);
  }
  EXPECT_EQ(essentials("step", R"({"run":"r1","step":"weeks","kind":"run","phase":"start","attempt":1})"),
            "weeks  of r1  started  run");
  EXPECT_EQ(essentials("task", R"({"task":{"id":"t1","status":{"state":"TASK_STATE_SUBMITTED"},"history":[{"parts":[
      {"data":{"agentd":{"op":"workflow.run","workflow":"report","inputs":{"dir":"."}}}}]}]}})"),
            R"(t1  SUBMITTED  "workflow.run workflow=report inputs={"dir":"."}")");
  EXPECT_EQ(essentials("task", R"({"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"},"history":[{"parts":[
      {"text":"a question"}]}],"artifacts":[{"parts":[{"text":"an answer"}]},{"parts":[{"data":1}]}]}})"),
            R"(t1  COMPLETED  "an answer")");
  EXPECT_EQ(essentials("lifecycle", R"({"draining":true,"reason":"SIGTERM"})"), "draining  SIGTERM");
  EXPECT_EQ(essentials("lifecycle", R"({"paused":false})"), "resumed");
}

TEST(Render, AnUnknownKindIsShownAsItIs) { EXPECT_EQ(essentials("weather", R"({"rain":true})"), "{\"rain\":true}"); }

TEST(Render, NoShapeOfDataMakesItThrow) {
  const char* shapes[] = {
      "null",
      "[]",
      "7",
      "\"x\"",
      "{}",
      R"({"task":7,"id":[],"steps":[1],"store":"x","paths":7,"status":{}})",
      R"({"task":{"status":[],"history":[[]],"artifacts":[1],"id":{}},"skills":[{}],"target":[1]})"};
  for (const auto& kind : event_kinds()) {
    for (const char* shape : shapes) EXPECT_NE(rendered(kind.c_str(), shape), "") << kind << " " << shape;
  }
  EXPECT_NE(render_event(Json(), kPlain), "");
  EXPECT_NE(render_event({{"ts", 1.5e300}, {"kind", 3}}, kPlain), "");
  EXPECT_NE(render_event({{"ts", UINT64_MAX}, {"kind", "task"}}, kPlain), "");
}

TEST(Render, NothingFromTheFeedDrivesTheTerminal) {
  const std::string evil =
      "a\x1b]0;owned\x07\nb\xC2\x9B"
      "2J\xE2\x80\xAE"
      "c\xff";
  const Json task = {{"id", evil},
                     {"contextId", evil},
                     {"status", {{"state", "TASK_STATE_" + evil}, {"message", {{"parts", {{{"text", evil}}}}}}}}};
  const std::string lines[] = {
      render_event({{"ts", 1}, {"kind", "task"}, {"data", {{"task", task}}}}, kPlain),
      render_event({{"ts", 1}, {"kind", evil}, {"data", {{evil, evil}}}}, kPlain),
      render_event({{"ts", 1}, {"kind", "run"}, {"data", {{"steps", {{evil, 1}}}, {"error", evil}}}}, kPlain),
      render_current(task, kPlain)};
  for (const auto& line : lines) {
    for (const char* bad : {"\x1b", "\x07", "\n", "\xC2\x9B", "\xE2\x80\xAE", "\xff"}) {
      EXPECT_EQ(line.find(bad), std::string::npos) << line;
    }
  }
  EXPECT_NE(lines[0].find("\\x1b]0;owned\\x07\\nb\\u{9b}2J\\u{202e}c\xEF\xBF\xBD"), std::string::npos) << lines[0];
  const std::string page = render_task(task, 0, kPlain) + render_tasks({task}, 0, kPlain);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST(Render, ColoursOnlyWhenAsked) {
  const char* data = R"({"task":{"id":"t","status":{"state":"TASK_STATE_FAILED"}}})";
  EXPECT_EQ(rendered("task", data).find('\x1b'), std::string::npos);
  EXPECT_NE(rendered("task", data, {.colour = true, .utc = true}).find("\x1b[31mFAILED\x1b[0m"), std::string::npos);
}

TEST(Render, TheTableOfTasksIsAligned) {
  const std::vector<Json> tasks = {
      {{"id", "t1"},
       {"contextId", "root"},
       {"status", {{"state", "TASK_STATE_COMPLETED"}, {"timestamp", "1970-01-01T00:00:00.000Z"}}}},
      {{"id", "long-id"},
       {"contextId", "ctx-é"},
       {"status", {{"state", "TASK_STATE_INPUT_REQUIRED"}, {"timestamp", "?"}}},
       {"history", {{{"parts", {{{"text", "which one?"}}}}}}}}};
  EXPECT_EQ(render_tasks(tasks, 240'000, kPlain),
            "ID       STATE            AGE  CONTEXT                   LAST WORDS\n"
            "t1       COMPLETED         4m  root                      \n"
            "long-id  INPUT_REQUIRED     ?  ctx-é                     which one?\n");
  EXPECT_EQ(render_tasks({}, 0, kPlain), "no tasks\n");
}

TEST(Printable, CutsAtCharactersAndKeepsLinesWhenAsked) {
  EXPECT_EQ(brief("ééééé", 5), "ééééé");
  EXPECT_EQ(brief("éééééé", 5), "éééé…");
  EXPECT_EQ(brief(std::string(100'000, 'x'), 3), "xx…");
  EXPECT_EQ(many_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b");
  EXPECT_EQ(one_line("a\n\tb"), "a\\n\\tb");
}

}  // namespace
}  // namespace agentd::cli
