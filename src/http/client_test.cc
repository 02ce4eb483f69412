// The client against real servers on loopback.
#include "http/client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "http/fake_server.h"

namespace agentd::http {
namespace {

// What became of one request.
struct Outcome {
  ResponseHead head;
  std::string body;
  int heads = 0;
  std::optional<Status> done;

  [[nodiscard]] Code code() const { return done && !*done ? done->error().code : Code::kInternal; }
  [[nodiscard]] std::string message() const { return done && !*done ? done->error().message : ""; }
  [[nodiscard]] bool good() const { return done && done->has_value(); }
};

class ClientTest : public testing::Test {
 protected:
  // Until `loop_` is stopped, or 20 s.
  void run() {
    net::Timer patience(loop_);
    patience.arm(20'000, [this] {
      ADD_FAILURE() << "what was waited for did not happen";
      loop_.stop();
    });
    loop_.run();
  }

  Receiver receive(Outcome& outcome) {
    return {.head =
                [&outcome](const ResponseHead& head) {
                  outcome.head = head;
                  ++outcome.heads;
                },
            .body = [&outcome](std::string_view piece) { outcome.body += piece; },
            .done =
                [this, &outcome](Status status) {
                  outcome.done = std::move(status);
                  loop_.stop();
                }};
  }

  Outcome fetch(OutboundRequest request) {
    Outcome outcome;
    const Transfer transfer = client_.start(std::move(request), receive(outcome));
    run();
    return outcome;
  }

  net::Loop loop_;
  Client client_{loop_};
};

OutboundRequest get_of(const std::string& url) { return {.method = "GET", .url = url, .reach = Reach::kAnywhere}; }

TEST_F(ClientTest, ReadsAWholeAnswer) {
  std::string seen;
  FakeServer server([&seen](FakeExchange& exchange) {
    seen = exchange.head() + exchange.body();
    exchange.answer(201, "made", "X-Kind: a\r\nX-Empty:\r\n");
  });
  const auto outcome = fetch({.url = server.url() + "things?secret=1",
                              .headers = {{"X-Token", "t"}, {"X-None", ""}},
                              .body = "what",
                              .reach = Reach::kAnywhere});
  EXPECT_TRUE(outcome.good()) << outcome.message();
  EXPECT_EQ(outcome.head.status, 201);
  EXPECT_EQ(outcome.head.header("x-kind"), "a");
  EXPECT_EQ(outcome.heads, 1);
  EXPECT_EQ(outcome.body, "made");
  EXPECT_TRUE(seen.starts_with("POST /things?secret=1 HTTP/1.1\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nX-Token: t\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nX-None:\r\n")) << seen;
  EXPECT_FALSE(seen.contains("Expect")) << seen;
  EXPECT_FALSE(seen.contains("Content-Type")) << seen;
  EXPECT_FALSE(seen.contains("Encoding")) << seen;
  EXPECT_TRUE(seen.ends_with("\r\nwhat")) << seen;
}

TEST_F(ClientTest, MeetsTheGate) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "inside"); });
  const auto outcome = fetch({.method = "GET", .url = server.url()});
  EXPECT_EQ(outcome.code(), Code::kPermissionDenied);
  EXPECT_TRUE(outcome.message().contains(": 127.0.0.1 is a loopback address")) << outcome.message();
  EXPECT_EQ(outcome.heads, 0);
}

TEST_F(ClientTest, GivesUpASilentServer) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("one");
    exchange.wait_for_peer();
  });
  auto request = get_of(server.url());
  request.deadlines.silence_ms = 50;
  const auto outcome = fetch(request);
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_EQ(outcome.body, "one");
  EXPECT_TRUE(outcome.message().ends_with(": nothing more of the answer in 50 ms")) << outcome.message();
}

}  // namespace
}  // namespace agentd::http
