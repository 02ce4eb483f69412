#include "client/feed_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <mutex>

#include "http/fake_server.h"

namespace agentd::client {
namespace {

using http::FakeExchange;
using http::FakeServer;

Json hello(std::uint64_t seq, bool resync = false) {
  return {{"hello", {{"seq", seq}, {"resume", 0}, {"resync", resync}, {"introspection", false}, {"version", "1"}}}};
}
Json event(std::uint64_t seq) {
  return {{"event", {{"seq", seq}, {"ts", 1}, {"kind", "task.removed"}, {"data", {{"id", "t"}}}}}};
}
Json goodbye(std::uint64_t seq, const char* reason) { return {{"goodbye", {{"seq", seq}, {"reason", reason}}}}; }

constexpr std::uint64_t kSixSeconds = 99;  // the clock turns by so much when this event is read

// One follower and one server; the n-th connection is served by the n-th step, and the last step is followed
// by a stop. What happened is written into one line.
struct Story {
  using Step = std::function<void(FakeExchange&)>;

  explicit Story(std::vector<Step> script) : steps(std::move(script)) {}

  Result<FeedEnd> run(FeedOptions options = {}) {
    FakeServer server([this](FakeExchange& exchange) {
      const std::size_t n = note_request(exchange);
      if (n < steps.size()) return steps[n](exchange);
      stop.request();
    });
    const Rpc rpc({.url = server.url()}, stop);
    const FeedSink sink{.frame =
                            [this](const Json& frame) {
                              const auto seq = frame.begin()->at("seq").get<std::uint64_t>();
                              log += fmt::format("{}{} ", frame.begin().key().substr(0, 1), seq);
                              if (seq == kSixSeconds) clock.advance_ms(6'000);
                            },
                        .resync = [this] { log += "resync "; },
                        .retry =
                            [this](std::string_view, std::int64_t ms) {
                              log += "retry ";
                              delays.push_back(ms);
                            }};
    FeedReader reader(rpc, stop, clock, std::move(options), sink,
                      {.random = [] { return 0.5; }, .pause = [](std::int64_t) {}});
    auto end = reader.run();
    cursor = reader.cursor();
    return end;
  }

  std::size_t note_request(const FakeExchange& exchange) {
    const std::lock_guard lock(mutex);
    asked.push_back(exchange.json()["params"]["fromSeq"].get<std::uint64_t>());
    return asked.size() - 1;
  }

  std::vector<Step> steps;
  std::mutex mutex;
  std::vector<std::uint64_t> asked;
  Stop stop;
  ManualClock clock;
  std::string log;
  std::vector<std::int64_t> delays;
  std::uint64_t cursor = 0;
};

TEST(FeedReader, ACutWithinAFrameLosesAndRepeatsNothing) {
  Story story({[](FakeExchange& exchange) {
                 exchange.begin_events();
                 exchange.send_result(hello(3));
                 exchange.send_result(event(2));
                 exchange.send("40\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"res");
               },
               [](FakeExchange& exchange) {
                 exchange.begin_events();
                 exchange.send_result(hello(3));
                 exchange.send_result(event(2));
                 exchange.send_result(event(3));
               }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.asked, (std::vector<std::uint64_t>{0, 2, 3}));
  EXPECT_EQ(story.log, "h3 e2 retry h3 e3 retry ");
  EXPECT_EQ(story.delays, (std::vector<std::int64_t>{100, 200}));
}

TEST(FeedReader, ACleanEndWithoutGoodbyeIsACutToo) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(3));
    exchange.end_chunks();
  }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.log, "h3 retry ");
}

TEST(FeedReader, ADeadlineIsContinuedAtOnceFromTheGoodbyesSeq) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(99));
    exchange.send_result(event(kSixSeconds));
    exchange.send_result(goodbye(120, "deadline"));
    exchange.end_chunks();
  }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.asked, (std::vector<std::uint64_t>{0, 120}));
  EXPECT_EQ(story.log, "h99 e99 g120 ");
}

TEST(FeedReader, AGoodbyeRightAfterTheHelloMakesNoTightLoop) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(8));
    exchange.send_result(goodbye(8, "deadline"));
    exchange.end_chunks();
  }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.log, "h8 g8 retry ");
}

TEST(FeedReader, ARevokedSessionEndsIt) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(8));
    exchange.send_result(goodbye(8, "revoked"));
    exchange.end_chunks();
  }});
  EXPECT_EQ(story.run(), FeedEnd::kRevoked);
  EXPECT_EQ(story.asked.size(), 1U);
}

TEST(FeedReader, AResyncIsToldBeforeTheReplay) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(40, true));
    exchange.send_result(event(38));
  }});
  EXPECT_EQ(story.run({.from = 5000}), FeedEnd::kStopped);
  EXPECT_EQ(story.log, "h40 resync e38 retry ");
}

TEST(FeedReader, ABookmarkIsTheNextCursor) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(8));
    exchange.send_chunk(": 77\n\n");
  }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.asked, (std::vector<std::uint64_t>{0, 77}));
}

TEST(FeedReader, SilenceIsACut) {
  Story story({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(8));
    exchange.wait_for_peer();
  }});
  EXPECT_EQ(story.run({.silence_ms = 50}), FeedEnd::kStopped);
  EXPECT_EQ(story.log, "h8 retry ");
}

TEST(FeedReader, RetryAfterIsHonoured) {
  Story story({[](FakeExchange& exchange) { exchange.answer(429, "", "Retry-After: 7\r\n"); },
               [](FakeExchange& exchange) { exchange.answer(503, "", "Retry-After: 2\r\n"); }});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.delays, (std::vector<std::int64_t>{7000, 2000}));
}

TEST(FeedReader, ARefusalEndsItWithTheServersWords) {
  Story story({[](FakeExchange& exchange) {
    exchange.answer(401, R"({"jsonrpc":"2.0","id":null,"error":{"code":-31401,"message":"who are you?"}})");
  }});
  const auto end = story.run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::kUnauthenticated);
  EXPECT_EQ(end.error().message, "who are you?");
}

TEST(FeedReader, ADaemonThatWasNeverReachedIsAnErrorUnlessPatient) {
  Stop stop;
  const SystemClock clock;
  const Rpc rpc({.url = "http://127.0.0.1:1/"}, stop);
  int retries = 0;
  const FeedSink sink{.frame = {}, .resync = {}, .retry = [&](std::string_view, std::int64_t) {
                        if (++retries == 3) stop.request();
                      }};
  const FeedSeams seams{.random = [] { return 0.5; }, .pause = [](std::int64_t) {}};
  const auto end = FeedReader(rpc, stop, clock, {}, sink, seams).run();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::kUnavailable);
  EXPECT_EQ(FeedReader(rpc, stop, clock, {.patient = true}, sink, seams).run(), FeedEnd::kStopped);
  EXPECT_EQ(retries, 3);
}

TEST(FeedReader, TheBackOffStartsAnewAfterAStreamThatLasted) {
  const auto short_lived = [](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(8));
  };
  const auto long_lived = [](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result(hello(99));
    exchange.send_result(event(kSixSeconds));
  };
  Story story({short_lived, short_lived, long_lived, short_lived});
  EXPECT_EQ(story.run(), FeedEnd::kStopped);
  EXPECT_EQ(story.delays, (std::vector<std::int64_t>{100, 200, 100, 200}));
}

}  // namespace
}  // namespace agentd::client
