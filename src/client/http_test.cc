#include "client/http.h"

#include <gtest/gtest.h>

#include <future>

#include "http/fake_server.h"

namespace agentd::client {
namespace {

using http::FakeExchange;
using http::FakeServer;

struct Streamed {
  Result<StreamEnd> end;
  std::string body;
  int status = 0;
};

Streamed stream(const std::string& url, const Deadlines& deadlines = {}, std::size_t enough = SIZE_MAX) {
  const Stop stop;
  Streamed seen;
  const StreamSink sink{.head =
                            [&](const ResponseHead& head) {
                              seen.status = head.status;
                              return true;
                            },
                        .body =
                            [&](std::string_view piece) {
                              seen.body += piece;
                              return seen.body.size() < enough;
                            }};
  seen.end = http_stream({.url = url}, deadlines, stop, sink);
  return seen;
}

TEST(Http, SendsTheRequestAndReadsTheAnswer) {
  FakeServer server([](FakeExchange& exchange) {
    EXPECT_TRUE(exchange.head().starts_with("POST / HTTP/1.1\r\n"));
    EXPECT_NE(exchange.head().find("X-Test: yes\r\n"), std::string::npos);
    exchange.answer(418, exchange.body() + "!", "X-Answer: Tea \r\n");
  });
  const Stop stop;
  const auto response = http_request({.url = server.url(), .headers = {{"X-Test", "yes"}}, .body = "hi"}, {}, stop);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->head.status, 418);
  EXPECT_EQ(response->head.header("x-answer"), "Tea");
  EXPECT_EQ(response->body, "hi!");
}

TEST(Http, TellsACleanEndFromACut) {
  FakeServer clean([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("abc");
    exchange.end_chunks();
  });
  const auto whole = stream(clean.url());
  EXPECT_EQ(whole.end, StreamEnd::kComplete);
  EXPECT_EQ(whole.body, "abc");

  FakeServer cut([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("abc");
    exchange.send("10\r\nonly half of");
  });
  const auto half = stream(cut.url());
  EXPECT_EQ(half.end, StreamEnd::kCut);
  EXPECT_EQ(half.body, "abconly half of");
}

TEST(Http, TheSinkMayEndItAndNobodyThereIsAnError) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("abc");
    exchange.wait_for_peer();
    exchange.cut();
  });
  EXPECT_EQ(stream(server.url(), {}, 3).end, StreamEnd::kStopped) << "the sink had enough";
  const Stop stop;
  const auto response = http_request({.url = "http://127.0.0.1:1/"}, {}, stop);
  EXPECT_EQ(response.error().code, Code::kUnavailable);
}

TEST(Http, SilenceIsNoticedBeforeAndAfterTheHead) {
  FakeServer mute([](FakeExchange& exchange) { exchange.wait_for_peer(); });
  EXPECT_EQ(stream(mute.url(), {.silence_ms = 50}).end.error().code, Code::kTimeout);

  FakeServer falls_silent([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("abc");
    exchange.wait_for_peer();
  });
  EXPECT_EQ(stream(falls_silent.url(), {.silence_ms = 50}).end, StreamEnd::kSilent);
  EXPECT_EQ(stream(falls_silent.url(), {.total_ms = 50}).end.error().code, Code::kTimeout);
}

TEST(Http, AStopFromAnotherThreadEndsTheWait) {
  std::promise<void> connected;
  FakeServer server([&](FakeExchange& exchange) {
    connected.set_value();
    exchange.wait_for_peer();
  });
  Stop stop;
  std::thread stopper([&] {
    connected.get_future().wait();
    stop.request();
  });
  const auto response = http_request({.url = server.url()}, {.silence_ms = 60'000}, stop);
  stopper.join();
  EXPECT_FALSE(response);
}

}  // namespace
}  // namespace agentd::client
