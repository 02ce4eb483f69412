#include <gtest/gtest.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/op_fixture.h"
#include "cli/render_access.h"

namespace agentd::cli {
namespace {

using Devices = DevicesOptions::Verb;
using Sessions = SessionsOptions::Verb;

Done run(const DevicesOptions& options, const Json& reply) { return run_answered(options, reply, run_devices); }
Done run(const SessionsOptions& options, const Json& reply) { return run_answered(options, reply, run_sessions); }

Json pending() {
  return Json::parse(R"([
    {"user_code":"BCDF-GHJK","client_id":"agentd-cli","scope":"user","peer":"192.0.2.7","requested_at":0,"expires_at":590000},
    {"user_code":"LMNP-QRST","client_id":"x\u001b[2J","scope":"operator","peer":"::1","requested_at":5,"expires_at":1}])");
}
Json sessions() {
  return Json::parse(R"([
    {"sid":"ds_0123456789abcdef","kind":"device","principal":"user:alice","role":"user","client_id":"agentd-cli",
     "created_at":0,"expires_at":28800000,"approved_by":"operator","name":"alice"},
    {"sid":"ls_0123456789abcdef","kind":"launch","principal":"operator","role":"operator","client_id":"ui",
     "created_at":60000,"expires_at":28800000,"approved_by":"operator"}])");
}

TEST(Access, TablesHaveAColumnForEachThingToKnow) {
  EXPECT_EQ(render_devices(pending(), 50'000),
            "CODE       CLIENT      SCOPE     FROM       EXPIRES\n"
            "BCDF-GHJK  agentd-cli  user      192.0.2.7  in 9m\n"
            "LMNP-QRST  x\\x1b[2J    operator  ::1        now\n");
  EXPECT_EQ(render_sessions(sessions(), 180'000),
            "SID                  NAME      ROLE      KIND    CLIENT      SINCE  EXPIRES\n"
            "ds_0123456789abcdef  alice     user      device  agentd-cli  3m     in 7h\n"
            "ls_0123456789abcdef  operator  operator  launch  ui          2m     in 7h\n");
  EXPECT_EQ(render_devices(Json::array(), 0), "no sign-in waits\n");
  EXPECT_EQ(std::ranges::count(render_sessions(Json::array({7}), 0), '\n'), 2) << "an entry that is none does no harm";
}

TEST(Access, ListsAreReadAndShown) {
  const Done devices = run(DevicesOptions{}, read_reply({{"pending", pending()}}));
  EXPECT_EQ(devices.exit, kOk);
  EXPECT_EQ(devices.command, Json::parse(R"({"op":"auth.device.pending"})"));
  EXPECT_TRUE(devices.out.starts_with("CODE ")) << devices.out;
  const Done json = run(SessionsOptions{.json = true}, read_reply({{"sessions", sessions()}}));
  EXPECT_EQ(json.command, Json::parse(R"({"op":"auth.sessions"})"));
  EXPECT_EQ(json.out, dump_json(sessions()[0]) + "\n" + dump_json(sessions()[1]) + "\n");
  EXPECT_EQ(run(SessionsOptions{}, read_reply({{"sessions", 7}})).exit, kFailure);
}

TEST(Access, AnApprovalSaysWhatWasGrantedAndToWhom) {
  Json approved = {{"user_code", "BCDF-GHJK"}, {"client_id", "agentd-cli"}, {"scope", "user"},
                   {"peer", "192.0.2.7"},      {"principal", "user:alice"}, {"existing", false}};
  const DevicesOptions options{.verb = Devices::kApprove, .code = "bcdfghjk", .as = "alice"};
  const Done done = run(options, work_reply({{"approved", approved}}));
  EXPECT_EQ(done.exit, kOk);
  EXPECT_EQ(done.command, Json::parse(R"({"op":"auth.device.approve","user_code":"bcdfghjk","as":"alice"})"));
  EXPECT_EQ(done.out, "BCDF-GHJK is approved as user:alice with scope user, for agentd-cli at 192.0.2.7\n");
  EXPECT_EQ(done.err, "");

  approved["existing"] = true;
  DevicesOptions narrowed = options;
  narrowed.scope = "user";
  narrowed.json = true;
  const Done again = run(narrowed, work_reply({{"approved", approved}}));
  EXPECT_EQ(again.command["scope"], "user");
  EXPECT_EQ(Json::parse(again.out), (Json{{"approved", approved}}));
  EXPECT_NE(again.err.find("user:alice was there before"), std::string::npos);
}

TEST(Access, DenyAndRevokeSayHowManyAndFailForNone) {
  const Done one = run(DevicesOptions{.verb = Devices::kDeny, .code = "BCDF-GHJK"}, work_reply({{"denied", 1}}));
  EXPECT_EQ(one.command, Json::parse(R"({"op":"auth.device.deny","user_code":"BCDF-GHJK"})"));
  EXPECT_EQ(one.out, "1 sign-in denied\n");
  EXPECT_EQ(one.exit, kOk);
  const Done none = run(SessionsOptions{.verb = Sessions::kRevoke, .sid = "ds_1"}, work_reply({{"revoked", 0}}));
  EXPECT_EQ(none.command, Json::parse(R"({"op":"auth.sessions.revoke","sid":"ds_1"})"));
  EXPECT_EQ(none.out, "0 sessions revoked\n");
  EXPECT_EQ(none.exit, kFailure);
  const Done named = run(SessionsOptions{.verb = Sessions::kRevoke, .name = "alice"}, work_reply({{"revoked", 2}}));
  EXPECT_EQ(named.command, Json::parse(R"({"op":"auth.sessions.revoke","name":"alice"})"));
  EXPECT_EQ(named.out, "2 sessions revoked\n");
  const Done all = run(SessionsOptions{.verb = Sessions::kRevoke, .all = true}, work_reply({{"revoked", 0}}));
  EXPECT_EQ(all.command, Json::parse(R"({"op":"auth.sessions.revoke","all":true})"));
  EXPECT_EQ(all.exit, kOk) << "none was what was there";
  const Done denied =
      run(DevicesOptions{.verb = Devices::kDeny, .all = true, .json = true}, work_reply({{"denied", 3}}));
  EXPECT_EQ(denied.command, Json::parse(R"({"op":"auth.device.deny","all":true})"));
  EXPECT_EQ(denied.out, "{\"denied\":3}\n");
}

TEST(Access, WhatDidNotWorkIsSaidInTheDaemonsWords) {
  Json failed = Json::parse(R"({"task":{"id":"t1","status":{"state":"TASK_STATE_FAILED",
    "message":{"parts":[{"text":"no sign-in waits with this code"}]}}}})");
  const DevicesOptions approve{.verb = Devices::kApprove, .code = "X", .as = "alice"};
  const Done done = run(approve, failed);
  EXPECT_EQ(done.exit, kFailure);
  EXPECT_EQ(done.err, "agentd: no sign-in waits with this code\n");

  Json other = work_reply({{"approved", Json::object()}});
  other["task"]["artifacts"][0]["artifactId"] = "t1.other";
  EXPECT_EQ(run(approve, other).exit, kFailure) << "only the artifact <taskId>.result is the result";

  const Done off = run(SessionsOptions{}, Json::parse(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,
    "message":"no op auth.sessions","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNKNOWN_OP"}]}})"));
  EXPECT_EQ(off.exit, kFailure);
  EXPECT_NE(off.err.find("a2a.device_grant.enabled"), std::string::npos) << off.err;
}

}  // namespace
}  // namespace agentd::cli
