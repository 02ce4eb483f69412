// For the tests of commands that send one op: such a command, run to its end against a daemon that gives one answer.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/json.h"
#include "cli/captured_console.h"
#include "http/fake_server.h"

namespace agentd::cli {

[[nodiscard]] inline Json parts_with(const Json& data) {
  return Json::array({{{"data", data}, {"mediaType", "application/json"}}});
}
// What the daemon answers an op that reads with, and one that works.
[[nodiscard]] inline Json read_reply(const Json& document) {
  return {{"message", {{"role", "ROLE_AGENT"}, {"parts", parts_with(document)}}}};
}
[[nodiscard]] inline Json work_reply(const Json& result) {
  return {{"task",
           {{"id", "t1"},
            {"status", {{"state", "TASK_STATE_COMPLETED"}}},
            {"artifacts", Json::array({{{"artifactId", "t1.result"}, {"parts", parts_with(result)}}})}}}};
}

// What a command prints, what it exits with, and the op that the daemon was sent.
struct Done {
  int exit = -1;
  std::string out;
  std::string err;
  Json command;
};

// `reply`: the result of the answer, or the whole of it when it is an error.
template <class Options>
[[nodiscard]] Done run_answered(Options options, const Json& reply, int (*command)(const Options&, Console)) {
  Done done;
  http::FakeServer server([&](http::FakeExchange& exchange) {
    EXPECT_NE(exchange.head().find("A2A-Extensions: https://agentd.dev/a2a/ext/command\r\n"), std::string::npos);
    const Json message = exchange.json()["params"]["message"];
    EXPECT_EQ(message["extensions"], Json::parse(R"(["https://agentd.dev/a2a/ext/command"])"));
    EXPECT_EQ(message["parts"].size(), 1U);
    done.command = message["parts"][0]["data"]["agentd"];
    reply.contains("error") ? exchange.answer(200, dump_json(reply)) : exchange.answer_result(reply);
  });
  CapturedConsole captured;
  options.daemon.url = server.url();
  done.exit = command(options, captured.console());
  done.out = captured.out();
  done.err = captured.err();
  return done;
}

}  // namespace agentd::cli
