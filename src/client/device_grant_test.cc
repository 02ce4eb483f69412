#include "client/device_grant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "http/fake_server.h"

namespace agentd::client {
namespace {

using http::FakeExchange;
using http::FakeServer;

constexpr const char* kPending = R"({"error":"authorization_pending"})";
constexpr const char* kSlowDown = R"({"error":"slow_down"})";
constexpr const char* kGranted =
    R"({"access_token":"agentd_at_5ec3e7","token_type":"Bearer","expires_in":28800,"scope":"user"})";

struct Answer {
  int status = 200;
  std::string body = {};
  std::string headers = "Content-Type: application/json\r\n";
};

// A daemon that gives one answer after another, the last one for ever, and time that passes only by the pauses.
struct Story {
  explicit Story(std::vector<Answer> script) : answers(std::move(script)) {}

  // The server's threads have ended when this returns.
  template <class Ask>
  auto with_daemon(const Ask& ask) {
    std::mutex mutex;
    FakeServer server([&](FakeExchange& exchange) {
      const std::lock_guard lock(mutex);
      const Answer& answer = answers[std::min(requests.size(), answers.size() - 1)];
      requests.push_back(exchange.head().substr(0, exchange.head().find("\r\n")) + "\n" + exchange.body());
      if (answer.status != 0)
        exchange.answer(answer.status, answer.body, answer.headers);  // else the connection is cut
    });
    const DeviceGrant device({.url = server.url()}, "cli-1", stop, clock,
                             {.random = [] { return 1.0; },
                              .pause =
                                  [this](std::int64_t ms) {
                                    pauses.push_back(ms);
                                    clock.advance_ms(ms);
                                    on_pause();
                                  }});
    return ask(device);
  }

  Result<DeviceCode> ask() {
    return with_daemon([](const DeviceGrant& device) { return device.ask("user"); });
  }

  Result<Grant> wait(const DeviceCode& code = {.device_code = "d3v1ce", .expires_s = 600, .interval_s = 5}) {
    return with_daemon([&](const DeviceGrant& device) {
      return device.wait(code, [this](std::string_view why, std::int64_t) { troubles.emplace_back(why); });
    });
  }

  std::vector<Answer> answers;
  std::function<void()> on_pause = [] {};
  Stop stop;
  ManualClock clock;
  std::vector<std::int64_t> pauses;  // ms
  std::vector<std::string> troubles;
  std::vector<std::string> requests;  // the request line, and the body
};

TEST(DeviceGrant, AsksForACodeWithAForm) {
  Story story({{.body = R"({"device_code":"d3v1ce","user_code":"BCDF-GHJK","verification_uri":"http://h/oauth2/device",
                            "expires_in":600,"interval":7})"}});
  const auto code = story.ask();
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(code->device_code, "d3v1ce");
  EXPECT_EQ(code->user_code, "BCDF-GHJK");
  EXPECT_EQ(code->verification_uri, "http://h/oauth2/device");
  EXPECT_EQ(code->expires_s, 600);
  EXPECT_EQ(code->interval_s, 7);
  EXPECT_EQ(story.requests[0], "POST /oauth2/device_authorization HTTP/1.1\nclient_id=cli-1&scope=user");
}

TEST(DeviceGrant, WhatIsNoCodeSaysWhy) {
  const auto error = [](Answer answer) {
    Story story({std::move(answer)});
    const auto code = story.ask();
    EXPECT_FALSE(code);
    return code ? Error{} : code.error();
  };
  EXPECT_EQ(error({.body = "<html>"}).code, Code::kParse);
  EXPECT_EQ(error({.body = R"({"device_code":"d","user_code":"c"})"}).code, Code::kParse) << "without an end";
  EXPECT_EQ(error({.body = R"({"device_code":"d","user_code":"A;reboot","expires_in":600})"}).code, Code::kParse)
      << "it would stand in a command to copy";
  const Error off = error({.status = 404, .body = "no"});
  EXPECT_NE(off.message.find("a2a.device_grant.enabled"), std::string::npos);
  const Error scope = error({.status = 400, .body = R"({"error":"invalid_scope","error_description":"only user"})"});
  EXPECT_EQ(scope.code, Code::kInvalidRequest);
  EXPECT_EQ(scope.message, "the sign-in was refused: invalid_scope: only user");
  const Error limited = error({.status = 429, .body = kSlowDown, .headers = "Retry-After: 12\r\n"});
  EXPECT_EQ(limited.code, Code::kRateLimited);
  EXPECT_EQ(limited.message, "too many sign-ins were begun: try again in 12 s");
}

TEST(DeviceGrant, PollsAtTheIntervalUntilItIsApproved) {
  Story story({{.status = 400, .body = kPending}, {.status = 400, .body = kPending}, {.body = kGranted}});
  const auto grant = story.wait();
  ASSERT_TRUE(grant) << grant.error().message;
  EXPECT_EQ(grant->token, "agentd_at_5ec3e7");
  EXPECT_EQ(grant->scope, "user");
  EXPECT_EQ(grant->expires_s, 28'800);
  EXPECT_EQ(story.pauses, (std::vector<std::int64_t>{5'000, 5'000, 5'000}));
  EXPECT_EQ(story.requests[0],
            "POST /oauth2/token HTTP/1.1\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"
            "&device_code=d3v1ce&client_id=cli-1");
}

TEST(DeviceGrant, SlowDownAddsFiveSecondsForGood) {
  Story story({{.status = 400, .body = kSlowDown},
               {.status = 400, .body = kPending},
               {.status = 400, .body = kSlowDown},
               {.body = kGranted}});
  EXPECT_TRUE(story.wait());
  EXPECT_EQ(story.pauses, (std::vector<std::int64_t>{5'000, 10'000, 10'000, 15'000}));
}

TEST(DeviceGrant, GoesOnOverCutsAndOverloadWithABackOff) {
  Story story({{.status = 0},
               {.status = 503, .body = "<html>"},
               {.status = 429, .body = "", .headers = "Retry-After: 20\r\n"},
               {.status = 400, .body = kPending},
               {.status = 0},
               {.body = kGranted}});
  EXPECT_TRUE(story.wait());
  // 0.2 s, 0.4 s and what the daemon asks for; after an answer the back-off begins anew.
  EXPECT_EQ(story.pauses, (std::vector<std::int64_t>{5'000, 5'200, 5'400, 25'000, 5'000, 5'200}));
  EXPECT_EQ(story.troubles.size(), 4U);
}

TEST(DeviceGrant, EveryRefusalEndsIt) {
  const auto error = [](int status, const char* body) {
    Story story({{.status = status, .body = body}});
    const auto grant = story.wait();
    EXPECT_FALSE(grant) << body;
    EXPECT_EQ(story.requests.size(), 1U) << body;
    return grant ? Error{} : grant.error();
  };
  EXPECT_EQ(error(400, R"({"error":"access_denied"})").code, Code::kPermissionDenied);
  for (const char* body : {
           R"({"error":"expired_token"})",
           R"({"error":"invalid_grant"})",
           R"({"error":"unsupported_grant_type"})",
       }) {
    EXPECT_EQ(error(400, body).code, Code::kInvalidRequest) << body;
  }
  EXPECT_NE(error(400, R"({"error":"expired_token"})").message.find("in time"), std::string::npos);
  EXPECT_NE(error(400, R"({"error":"invalid_grant"})").message.find("restarted"), std::string::npos);
  EXPECT_EQ(error(400, R"({"error":"invalid_request","error_description":"twice"})").message,
            "the sign-in was refused: invalid_request: twice");
  EXPECT_EQ(error(200, "{}").code, Code::kParse);
  EXPECT_EQ(error(200, R"({"access_token":"a\r\nHost: b"})").code, Code::kParse) << "would end the header it stands in";
}

TEST(DeviceGrant, ItsOwnClockEndsItToo) {
  Story pending({{.status = 400, .body = kPending}});
  const DeviceCode code{.device_code = "d3v1ce", .expires_s = 12, .interval_s = 5};
  const auto expired = pending.wait(code);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, Code::kInvalidRequest);
  EXPECT_EQ(pending.pauses.size(), 3U);

  Story cut({{.status = 0}});
  EXPECT_EQ(cut.wait(code).error().code, Code::kInvalidRequest) << "a daemon that is gone is not waited for longer";
}

TEST(DeviceGrant, AStopEndsTheWait) {
  Story story({{.status = 400, .body = kPending}});
  story.on_pause = [&story] { story.stop.request(); };
  EXPECT_EQ(story.wait().error().code, Code::kTimeout);
  EXPECT_TRUE(story.requests.empty());
}

TEST(DeviceGrant, ASessionIsRevokedByItsToken) {
  std::string request;
  std::mutex mutex;
  FakeServer server([&](FakeExchange& exchange) {
    const std::lock_guard lock(mutex);
    request = exchange.head().substr(0, exchange.head().find("\r\n")) + "\n" + exchange.body();
    exchange.answer(200, "", "");
  });
  const Stop stop;
  EXPECT_TRUE(revoke_token({.url = server.url()}, "agentd_at_1", stop));
  EXPECT_EQ(revoke_token({.url = "http://127.0.0.1:1"}, "t", stop).error().code, Code::kUnavailable);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(request, "POST /oauth2/revoke HTTP/1.1\ntoken=agentd_at_1");
}

}  // namespace
}  // namespace agentd::client
