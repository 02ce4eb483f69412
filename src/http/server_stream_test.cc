// Event streams through a whole server, to readers that are fast, slow, stalled and gone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"
#include "http/test_peers.h"

namespace agentd::http {
namespace {

// `count` numbered events, made when asked for; each different from the next in size and letters.
class Numbers final : public StreamSource {
 public:
  explicit Numbers(std::size_t count) : count_(count) {}

  static std::string text(std::size_t number) {
    return fmt::format("data: {} {}\n\n", number,
                       std::string(number * 37 % 3000, static_cast<char>('a' + number % 26)));
  }

  bool peek(std::vector<StreamEvent>& out, std::size_t max_bytes) override {
    if (moved_on) state_now = State::kCut;
    std::size_t bytes = 0;
    std::size_t i = next;
    for (; i < count_ && bytes < max_bytes; ++i) {
      const auto whole = std::make_shared<const std::string>(text(i));
      const std::string_view view = *whole;
      bytes += view.size();
      out.push_back({.owner = whole, .pieces = {view.substr(0, 6), view.substr(6, view.size() - 8), "", "\n\n"}});
    }
    return i < count_;
  }
  void consume(std::size_t count) override { next += count; }
  State state() const override { return state_now; }
  std::string keep_alive() override { return fmt::format(": {}\n\n", next); }
  void closed() override {
    EXPECT_FALSE(std::exchange(closed_already_, true));
    closed_promise.set_value();
  }

  std::size_t next = 0;
  bool moved_on = false;  // as a peek will find
  State state_now = State::kOpen;
  std::promise<void> closed_promise;

 private:
  std::size_t count_;
  bool closed_already_ = false;
};

// A source whose events the test pushes, on the loop.
class Queue final : public StreamSource {
 public:
  bool peek(std::vector<StreamEvent>& out, std::size_t) override {
    ++peeks;
    if (on_peek) on_peek();
    for (const auto& text : events) out.push_back({.owner = text, .pieces = {*text}});
    return false;
  }
  void consume(std::size_t count) override { events.erase(events.begin(), events.begin() + static_cast<long>(count)); }
  State state() const override { return state_now; }
  std::string keep_alive() override { return comment; }
  void closed() override { closed_promise.set_value(); }

  void push(std::string text) { events.push_back(std::make_shared<const std::string>(std::move(text))); }

  std::deque<std::shared_ptr<const std::string>> events;
  State state_now = State::kOpen;
  std::string comment;
  int peeks = 0;
  std::function<void()> on_peek;
  std::promise<void> closed_promise;
};

const Response kHead{.headers = {{"Content-Type", "text/event-stream"}}};

// A server that streams `source` to whoever asks, once, and remembers how to wake it.
struct Streaming {
  explicit Streaming(std::shared_ptr<StreamSource> source, StreamLimits limits = {}) {
    server.on_request = [this, source, limits](const std::shared_ptr<Exchange>& exchange) {
      if (exchange->request().path == "/plain") return exchange->respond({.body = "plain"});
      wake = exchange->stream(kHead, source, limits);
    };
  }
  std::function<void()> wake;
  TestServer server;
};

// One who asked for the stream and has its head.
struct StreamReader : TestClient {
  explicit StreamReader(const Streaming& streaming, int receive_buffer = 0)
      : TestClient(streaming.server.port(), receive_buffer) {
    send(get("/"));
    header = read_header();
  }
  Reply header;
};

// Waits until the reader takes no more; what was sent until then. A connection that is not blocked sends in every turn
// of the loop.
std::size_t wait_until_blocked(Streaming& streaming, const Numbers& numbers) {
  std::size_t before = 1;
  std::size_t now = 0;
  while (before != now) {
    before = now;
    streaming.server.on_loop([&] { now = numbers.next; });
  }
  return now;
}

TEST(ServerStream, SendsEachEventAsOneChunkAsSoonAsItIsThere) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  StreamReader client(streaming);
  EXPECT_EQ(client.header.status, 200);
  EXPECT_EQ(client.header.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(client.header.headers.at("transfer-encoding"), "chunked");
  for (const char* text : {"data: 1\n\n", "data: 2\n\n"}) {
    streaming.server.on_loop([&] {
      queue->push(text);
      streaming.wake();
    });
    EXPECT_EQ(client.read_chunk(), text);
  }
}

TEST(ServerStream, LooksAtItsSourceOncePerTurnHoweverOftenItIsWoken) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  StreamReader client(streaming);
  streaming.server.on_loop([&] {
    queue->peeks = 0;
    for (int i = 0; i < 1000; ++i) {
      queue->push(std::to_string(i));
      streaming.wake();
    }
    EXPECT_EQ(queue->peeks, 0);
  });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.read_chunk(), std::to_string(i));
  // A few turns send a thousand events.
  streaming.server.on_loop([&] { EXPECT_LT(queue->peeks, 40); });
}

TEST(ServerStream, KeepsTheConnectionAfterTheFinalChunk) {
  const auto numbers = std::make_shared<Numbers>(100);
  numbers->state_now = StreamSource::State::kFinished;
  Streaming streaming(numbers);
  TestClient client(streaming.server.port());
  client.send(get("/") + get("/plain"));
  const auto reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  std::string expected;
  for (std::size_t i = 0; i < 100; ++i) expected += Numbers::text(i);
  EXPECT_EQ(reply.body, expected);
  EXPECT_EQ(client.read_reply().body, "plain");
  EXPECT_EQ(client.exchange(get("/plain")).body, "plain");
  streaming.server.on_loop([&] { streaming.wake(); });
}

TEST(ServerStream, CutsWithoutAFinalChunk) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  StreamReader client(streaming);
  streaming.server.on_loop([&] {
    queue->push("never sent");
    queue->state_now = StreamSource::State::kCut;
    streaming.wake();
  });
  EXPECT_EQ(client.read_chunk(), "cut");
  await(queue->closed_promise);
}

TEST(ServerStream, SendsTheLastWordOfARevokedSource) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  StreamReader client(streaming);
  streaming.server.on_loop([&] {
    queue->push("goodbye");
    queue->state_now = StreamSource::State::kRevoked;
    streaming.wake();
  });
  EXPECT_EQ(client.read_chunk(), "goodbye");
}

// Two readers of `server`, whose streams offer something in the same turn of the loop; the second one's peek, as another
// thread might, ends the first. What the reader of the first sees then.
std::string seen_by_the_first_of_two(StreamSource::State end) {
  std::vector<std::shared_ptr<Queue>> sources;
  std::vector<std::function<void()>> wakes;
  Queue* first = nullptr;
  TestServer server;
  server.on_request = [&](const std::shared_ptr<Exchange>& exchange) {
    sources.push_back(std::make_shared<Queue>());
    wakes.push_back(exchange->stream(kHead, sources.back(), {}));
  };
  TestClient one(server.port());
  TestClient two(server.port());
  for (TestClient* client : {&one, &two}) {
    client->send(get("/"));
    EXPECT_EQ(client->read_header().status, 200);
  }
  server.on_loop([&] {
    for (const auto& source : sources) {
      source->push("before the end");
      source->on_peek = [&, &queue = *source] {
        if (first == nullptr) {
          first = &queue;
        } else if (&queue != first && std::exchange(first->state_now, end) == StreamSource::State::kOpen) {
          first->events.clear();
          first->push("goodbye");
        }
      };
    }
    for (const auto& wake : wakes) wake();
  });
  const std::string chunks[] = {one.read_chunk(), two.read_chunk()};
  bool was_one = false;
  server.on_loop([&] { was_one = first == sources[0].get(); });
  EXPECT_EQ(chunks[was_one ? 1 : 0], "before the end");
  return chunks[was_one ? 0 : 1];
}

TEST(ServerStream, TakesBackWhatARevokedSourceOfferedInTheSameTurn) {
  EXPECT_EQ(seen_by_the_first_of_two(StreamSource::State::kRevoked), "goodbye");
  EXPECT_EQ(seen_by_the_first_of_two(StreamSource::State::kCut), "cut");
}

TEST(ServerStream, CutsARevokedSourceWhoseReaderIsInTheMiddleOfAnEvent) {
  const auto numbers = std::make_shared<Numbers>(1'000'000);
  Streaming streaming(numbers);
  const StreamReader stalled(streaming, 4096);
  const std::size_t sent = wait_until_blocked(streaming, *numbers);
  streaming.server.on_loop([&] {
    numbers->state_now = StreamSource::State::kRevoked;
    streaming.wake();
  });
  await(numbers->closed_promise);
  EXPECT_EQ(numbers->next, sent);
}

TEST(ServerStream, CutsAStalledReaderThatItsSourceHasMovedPast) {
  const auto numbers = std::make_shared<Numbers>(1'000'000);
  Streaming streaming(numbers);
  const StreamReader stalled(streaming, 4096);
  wait_until_blocked(streaming, *numbers);
  streaming.server.on_loop([&] {
    numbers->moved_on = true;
    streaming.wake();
  });
  await(numbers->closed_promise);
}

TEST(ServerStream, IsByteExactToASlowReader) {
  constexpr std::size_t kEvents = 34'000;  // 50 MB
  const auto numbers = std::make_shared<Numbers>(kEvents);
  numbers->state_now = StreamSource::State::kFinished;
  Streaming streaming(numbers);
  StreamReader client(streaming, 4096);

  std::string pending;
  std::size_t number = 0;
  std::size_t total = 0;
  while (number < kEvents) {
    const std::string text = Numbers::text(number);
    const std::string chunk = fmt::format("{:x}\r\n{}\r\n", text.size(), text);
    while (pending.size() < chunk.size()) {
      const std::string more = client.read_some(4096);
      ASSERT_FALSE(more.empty()) << "ended at event " << number;
      total += more.size();
      pending += more;
    }
    ASSERT_TRUE(pending.starts_with(chunk)) << "event " << number;
    pending.erase(0, chunk.size());
    ++number;
  }
  while (pending.size() < 5) pending += client.read_some(5);
  EXPECT_EQ(pending, "0\r\n\r\n");
  EXPECT_GT(total, 50'000'000U);
  EXPECT_EQ(client.exchange(get("/plain")).body, "plain");
}

TEST(ServerStream, ClosesAReaderThatTakesNothing) {
  const auto numbers = std::make_shared<Numbers>(1'000'000);
  Streaming streaming(numbers, {.write_timeout_ms = 100});
  TestClient client(streaming.server.port(), 4096);
  client.send(get("/"));
  await(numbers->closed_promise);
  streaming.server.on_loop([&] {
    // Held back by the reader: the kernel has a few hundred KB, of three GB.
    EXPECT_LT(numbers->next, 5'000U);
    EXPECT_EQ(streaming.server.server().connections(), 0U);
    EXPECT_EQ(streaming.server.losses(), (Json{{"write_timeouts", 1}}));
    streaming.wake();
  });
}

TEST(ServerStream, DoesNotLetOneStalledReaderDelayAnother) {
  const auto numbers = std::make_shared<Numbers>(1'000'000);
  Streaming streaming(numbers);
  TestClient stalled(streaming.server.port(), 4096);
  stalled.send(get("/"));
  TestClient other(streaming.server.port());
  EXPECT_EQ(other.exchange(get("/plain")).body, "plain");
}

TEST(ServerStream, SendsTheCommentWhenItWasSilent) {
  const auto queue = std::make_shared<Queue>();
  queue->comment = ": 7\n\n";
  Streaming streaming(queue, {.keep_alive_ms = 20});
  StreamReader client(streaming);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.read_chunk(), ": 7\n\n");
}

TEST(ServerStream, SendsWhatIsPendingInsteadOfTheComment) {
  const auto queue = std::make_shared<Queue>();
  queue->comment = ": 7\n\n";
  Streaming streaming(queue, {.keep_alive_ms = 100});
  StreamReader client(streaming);
  streaming.server.on_loop([&] { queue->push("data: not woken for\n\n"); });
  EXPECT_EQ(client.read_chunk(), "data: not woken for\n\n");
  EXPECT_EQ(client.read_chunk(), ": 7\n\n");
}

TEST(ServerStream, TellsItsSourceThatTheReaderHasGone) {
  for (const bool by_reset : {false, true}) {
    const auto queue = std::make_shared<Queue>();
    Streaming streaming(queue);
    StreamReader client(streaming);
    by_reset ? client.reset() : client.close();
    await(queue->closed_promise);
    streaming.server.on_loop([&] { streaming.wake(); });
  }
}

TEST(ServerStream, ClosesAReaderThatKeepsSending) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  StreamReader client(streaming);
  client.send(std::string(1U << 20U, 'x'));
  await(queue->closed_promise);
}

TEST(ServerStream, GivesHttp10TheBareEventsUntilTheEnd) {
  const auto numbers = std::make_shared<Numbers>(1000);
  numbers->state_now = StreamSource::State::kFinished;
  Streaming streaming(numbers);
  TestClient client(streaming.server.port());
  const auto reply = client.exchange("GET / HTTP/1.0\r\n\r\n");
  EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
  std::string expected;
  for (std::size_t i = 0; i < 1000; ++i) expected += Numbers::text(i);
  EXPECT_EQ(reply.body, expected);
}

TEST(ServerStream, GivesHeadTheHeaderAlone) {
  const auto queue = std::make_shared<Queue>();
  Streaming streaming(queue);
  TestClient client(streaming.server.port());
  client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n" + get("/plain"));
  EXPECT_EQ(client.read_reply(true).headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(client.read_reply().body, "plain");
  await(queue->closed_promise);
}

TEST(ServerStream, ClosesASourceThatComesTooLate) {
  const auto queue = std::make_shared<Queue>();
  TestServer server;
  std::shared_ptr<Exchange> open;
  std::promise<void> abandoned;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) {
    open = std::move(exchange);
    open->on_abandoned([&] { abandoned.set_value(); });
  };
  TestClient client(server.port());
  client.send(get("/"));
  bool asked = false;
  while (!asked) server.on_loop([&] { asked = open != nullptr; });
  client.close();
  await(abandoned);
  server.on_loop([&] {
    open->stream(kHead, queue, {})();
    open.reset();
  });
  await(queue->closed_promise);
}

TEST(ServerStream, EndsAfterTheLastWholeEventWhenTheServerShutsDown) {
  const auto numbers = std::make_shared<Numbers>(2000);
  Streaming streaming(numbers);
  StreamReader client(streaming, 4096);
  std::promise<void> done;
  streaming.server.on_loop([&] { streaming.server.server().shut_down(60'000, [&] { done.set_value(); }); });
  for (std::size_t i = 0; i < 2000; ++i) ASSERT_EQ(client.read_chunk(), Numbers::text(i));
  EXPECT_TRUE(client.at_end());
  client.close();
  await(done);
}

TEST(ServerStream, IsClosedWithItsServer) {
  const auto queue = std::make_shared<Queue>();
  {
    Streaming streaming(queue);
    StreamReader client(streaming);
  }
  await(queue->closed_promise);
}

}  // namespace
}  // namespace agentd::http
