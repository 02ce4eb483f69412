// The client against real servers on loopback: what is sent, what is handed on, and how it ends.
#include "http/client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "http/client_fixture.h"
#include "http/fake_server.h"
#include "http/test_peers.h"

namespace agentd::http {
namespace {

// A port of loopback that nobody listens on.
std::string closed_url() {
  const FakeServer server([](FakeExchange&) {});
  return server.url();
}

TEST_F(ClientTest, ReadsAWholeAnswer) {
  std::string seen;
  FakeServer server([&seen](FakeExchange& exchange) {
    seen = exchange.head() + exchange.body();
    exchange.answer(201, "made", "X-Kind:  a \r\nX-Empty:\r\nx-kind: b\r\n");
  });
  const auto received = fetch({.url = server.url() + "things?a=1",
                               .headers = {{"X-Token", "t"}, {"X-None", ""}, {"X-Blank", " "}},
                               .body = "what",
                               .reach = Reach::kAnywhere});
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.head.status, 201);
  EXPECT_EQ(
      received.head.headers,
      (Headers{{"X-Kind", "a"}, {"X-Empty", ""}, {"x-kind", "b"}, {"Connection", "close"}, {"Content-Length", "4"}}));
  EXPECT_EQ(received.head.header("x-KIND"), "a");
  EXPECT_EQ(received.head.header("x-other"), "");
  EXPECT_EQ(received.heads, 1);
  EXPECT_EQ(received.body, "made");
  EXPECT_TRUE(seen.starts_with("POST /things?a=1 HTTP/1.1\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nX-Token: t\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nX-None:\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nX-Blank:\r\n")) << seen;
  EXPECT_TRUE(seen.contains("\r\nUser-Agent: agentd/")) << seen;
  EXPECT_TRUE(seen.ends_with("\r\nwhat")) << seen;
}

TEST_F(ClientTest, SendsNoHeaderThatWasNotAskedFor) {
  std::string seen;
  FakeServer server([&seen](FakeExchange& exchange) {
    seen = exchange.head();
    exchange.answer(200, "");
  });
  // Long enough for libcurl to ask whether it may send it.
  EXPECT_TRUE(fetch(post_of(server.url(), std::string(2U << 20U, 'b'))).good());
  for (const char* name : {"Expect:", "Content-Type:", "Encoding:", "Authorization:", "Cookie:"}) {
    EXPECT_FALSE(seen.contains(name)) << seen;
  }
}

TEST_F(ClientTest, SendsEachMethodWithItsBodyOrNone) {
  std::string seen;
  FakeServer server([&seen](FakeExchange& exchange) {
    seen = exchange.head().substr(0, exchange.head().find(' ')) + " " + exchange.body();
    exchange.answer(200, "x");
  });
  for (const auto& [method, body] : {std::pair{"GET", ""}, {"DELETE", ""}, {"PUT", ""}, {"PATCH", "p"}, {"POST", ""}}) {
    auto request = get_of(server.url());
    request.method = method;
    request.body = body;
    EXPECT_EQ(fetch(request).body, "x") << method;
    EXPECT_EQ(seen, fmt::format("{} {}", method, body));
  }
}

TEST_F(ClientTest, DoesNotWaitForTheBodyThatHeadOnlyAnnounces) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.send("HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\n");
    exchange.wait_for_peer();
  });
  auto request = get_of(server.url());
  request.method = "HEAD";
  const auto received = fetch(request);
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.head.header("content-length"), "1000");
}

TEST_F(ClientTest, HandsPiecesOnBeforeTheAnswerEnds) {
  std::promise<void> first_seen;
  FakeServer server([&first_seen](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("one");
    await(first_seen);
    exchange.send_chunk("two");
    exchange.end_chunks();
  });
  Received received;
  Receiver receiver = receive(received);
  receiver.body = [&](std::string_view piece) {
    if (received.body.empty()) first_seen.set_value();
    received.body += piece;
  };
  const Transfer transfer = client_.start(get_of(server.url()), std::move(receiver));
  run();
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.body, "onetwo");
}

TEST_F(ClientTest, GivesARedirectAsTheAnswerThatItIs) {
  std::atomic<int> requests = 0;
  FakeServer server([&](FakeExchange& exchange) {
    ++requests;
    exchange.answer(302, "elsewhere", "Location: /other\r\n");
  });
  const auto received = fetch(get_of(server.url()));
  EXPECT_TRUE(received.good());
  EXPECT_EQ(received.head.status, 302);
  EXPECT_EQ(received.head.header("location"), "/other");
  EXPECT_EQ(received.body, "elsewhere");
  EXPECT_EQ(requests, 1);
}

TEST_F(ClientTest, GivesOneHeadHoweverManyInterimOnesAndTrailersThereAre) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.send("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\nHTTP/1.1 102 X\r\n\r\n");
    exchange.send(
        "HTTP/1.1 200 X\r\nX-Late: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\nX-Trailer: 1\r\n\r\n");
  });
  const auto received = fetch(get_of(server.url()));
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.heads, 1);
  EXPECT_EQ(received.head.status, 200);
  EXPECT_EQ(received.head.headers, (Headers{{"X-Late", "1"}, {"Transfer-Encoding", "chunked"}}));
  EXPECT_EQ(received.body, "b");
}

TEST_F(ClientTest, TellsAnAnswerThatWasCut) {
  const std::string kWhole = "HTTP/1.1 200 X\r\n";
  for (const auto& [bytes, resets, reason] :
       {std::tuple{kWhole + "Content-Length: 10\r\n\r\nhalf", false, "cut within the answer"},
        {kWhole + "Content-Length: 10\r\n\r\nhalf", true, "cut within the answer"},
        {kWhole + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false, "cut within the answer"},
        {kWhole + "Transfer-Encoding: chunked\r\n\r\n8\r\nhalf", false, "cut within the answer"},
        {kWhole + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n", false, "cut within the answer"},
        {std::string("HTTP/1.1 2"), false, "ended before the answer"},
        {std::string(), false, "ended before the answer"},
        {std::string(), true, "ended before the answer"}}) {
    FakeServer server([&](FakeExchange& exchange) {
      exchange.send(bytes);
      if (resets) exchange.cut();
    });
    const auto received = fetch(get_of(server.url()));
    EXPECT_EQ(received.code(), Code::kUnavailable) << bytes;
    EXPECT_TRUE(received.message().contains(reason)) << bytes << received.message();
    EXPECT_TRUE(received.message().starts_with("127.0.0.1:")) << received.message();
  }
}

TEST_F(ClientTest, TakesNoAnswerThatIsNotHttp) {
  for (const std::string bytes :
       {"SSH-2.0-secret\r\n", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n",
        "HTTP/1.1 101 X\r\n\r\nsecret"}) {
    FakeServer server([&](FakeExchange& exchange) { exchange.send(bytes); });
    EXPECT_EQ(fetch(get_of(server.url())).code(), Code::kUnavailable) << bytes;
  }
}

TEST_F(ClientTest, EndsAnAnswerThatIsLongerThanAllowed) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    for (int i = 0; i < 10; ++i) exchange.send_chunk("0123456789");
    exchange.end_chunks();
  });
  auto request = get_of(server.url());
  request.most_bytes = 100;
  EXPECT_EQ(fetch(request).body.size(), 100);
  request.most_bytes = 99;
  const auto received = fetch(request);
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().ends_with(": its answer is longer than 99 bytes")) << received.message();
  EXPECT_LE(received.body.size(), 99);
}

TEST_F(ClientTest, EndsAHeadThatDoesNotEnd) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.send("HTTP/1.1 200 X\r\n");
    for (int i = 0; i < 10'000; ++i) exchange.send(fmt::format("X-{}: {:0100}\r\n", i, i));
  });
  const auto received = fetch(get_of(server.url()));
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().contains("the head of its answer is longer than")) << received.message();
}

TEST_F(ClientTest, SaysThatNobodyIsThere) {
  const auto received = fetch(get_of(closed_url()));
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().contains("no connection (Connection refused); see that it runs"))
      << received.message();
}

TEST_F(ClientTest, TakesNoRequestThatCouldNotBeOne) {
  for (const char* url : {"", "example.com", "//example.com/", "/secret", "ftp://example.com/", "file:///secret",
                          "http://", "http://a b/", "http://a\r\nX: secret/", "http://a/\r\nX: secret",
                          "http://a:99999/", "http://[::1/", "ws://a/"}) {
    const auto received = fetch({.url = url});
    EXPECT_EQ(received.code(), Code::kInvalidParams) << url << received.message();
  }
  EXPECT_EQ(fetch({.url = std::string("http://a\0.secret/", 17)}).code(), Code::kInvalidParams);
  for (const char* method : {"", "GET /", "GET\r\nX:", "G\tT"}) {
    EXPECT_EQ(fetch({.method = method, .url = "http://a/"}).code(), Code::kInvalidParams) << method;
  }
  for (const auto& [name, value] : Headers{{"", "a"},
                                           {"X Y", "a"},
                                           {"X:", "a"},
                                           {"X\r\nY", "a"},
                                           {"X", "secret\r\nY: a"},
                                           {"X", "secret\n"},
                                           {"X", "\r"},
                                           {"X", std::string("secret\0", 7)},
                                           {"X", "\x7f"},
                                           {"Content-Length", "1"},
                                           {"transfer-encoding", "chunked"}}) {
    const auto received = fetch({.url = "http://a/", .headers = {{name, value}}});
    EXPECT_EQ(received.code(), Code::kInvalidParams) << name << value;
  }
  for (const char* proxy : {"a:1", "socks5://a:1", "http://secret@a:b/"}) {
    const auto received = fetch({.url = "http://a/", .proxy = proxy});
    EXPECT_EQ(received.code(), Code::kInvalidParams) << proxy;
  }
}

TEST_F(ClientTest, GivesUpASilentServer) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("one");
    exchange.wait_for_peer();
  });
  auto request = get_of(server.url());
  request.deadlines.silence_ms = 50;
  const auto received = fetch(request);
  EXPECT_EQ(received.code(), Code::kTimeout);
  EXPECT_EQ(received.body, "one");
  EXPECT_TRUE(received.message().ends_with(": nothing more of the answer in 50 ms")) << received.message();
}

TEST_F(ClientTest, GivesUpAServerThatDoesNotBegin) {
  for (const char* bytes : {"", "HTTP/1.1 102 X\r\n\r\n", "HTTP/1.1 200 X\r\nX-A: 1\r\n"}) {
    FakeServer server([bytes](FakeExchange& exchange) {
      exchange.send(bytes);
      exchange.wait_for_peer();
    });
    auto request = get_of(server.url());
    request.deadlines = {.first_byte_ms = 50, .silence_ms = 1};
    const auto received = fetch(request);
    EXPECT_EQ(received.code(), Code::kTimeout);
    EXPECT_EQ(received.heads, 0);
    EXPECT_TRUE(received.message().ends_with(": no answer in 50 ms")) << received.message();
  }
}

TEST_F(ClientTest, GivesUpAnAnswerThatTakesTooLongInAll) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk("one");
    exchange.wait_for_peer();
  });
  auto request = get_of(server.url());
  request.deadlines = {.silence_ms = 0, .total_ms = 50};
  const auto received = fetch(request);
  EXPECT_EQ(received.code(), Code::kTimeout);
  EXPECT_TRUE(received.message().ends_with(": not finished in 50 ms")) << received.message();
}

TEST_F(ClientTest, WithoutDeadlinesWaitsAsLongAsItTakes) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "late"); });
  auto request = get_of(server.url());
  request.deadlines = {.first_byte_ms = 0, .silence_ms = 0, .total_ms = 0};
  EXPECT_EQ(fetch(request).body, "late");
}

TEST_F(ClientTest, CallsNothingMoreOnceCancelledInAnyCallback) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "one"); });
  for (const std::string_view where : {"head", "body", "done"}) {
    std::vector<std::string_view> called;
    Transfer transfer;
    const auto call = [&](std::string_view which) {
      called.push_back(which);
      if (which != where) return;
      transfer = Transfer();
      loop_.post([this] { loop_.stop(); });
    };
    transfer = client_.start(get_of(server.url()), {.head = [&](const ResponseHead&) { call("head"); },
                                                    .body = [&](std::string_view) { call("body"); },
                                                    .done = [&](const Status&) { call("done"); }});
    run();
    EXPECT_EQ(called.back(), where);
  }
}

TEST_F(ClientTest, CallsNothingOfATransferThatIsGone) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "x"); });
  static_cast<void>(client_.start(get_of(server.url()), {.done = [](const Status&) { ADD_FAILURE(); }}));
  static_cast<void>(client_.start({.url = "none"}, {.done = [](const Status&) { ADD_FAILURE(); }}));
  Transfer replaced = client_.start(get_of(server.url()), {.done = [](const Status&) { ADD_FAILURE(); }});
  Received received;
  Transfer next = client_.start(get_of(server.url()), receive(received));
  replaced = std::move(next);
  run();
  EXPECT_TRUE(received.good());
  EXPECT_TRUE(fetch(get_of(server.url())).good()) << "time enough for those that are gone";
}

TEST_F(ClientTest, CanBeDestroyedInTheLastCallback) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "x"); });
  auto client = std::make_unique<Client>(loop_);
  Transfer transfer;
  transfer = client->start(get_of(server.url()), {.done = [&](const Status& status) {
                             EXPECT_TRUE(status.has_value());
                             transfer = Transfer();
                             client.reset();
                             loop_.stop();
                           }});
  run();
  EXPECT_EQ(client, nullptr);
}

TEST_F(ClientTest, StartsARequestInACallback) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "x"); });
  Received received;
  Transfer second;
  const Transfer first =
      client_.start(get_of(server.url()),
                    {.done = [&](const Status&) { second = client_.start(get_of(server.url()), receive(received)); }});
  run();
  EXPECT_TRUE(received.good());
}

TEST_F(ClientTest, HasManyRequestsUnderWayAtOnce) {
  constexpr std::size_t kMany = 300;
  TestServer server;
  // None is answered before all are there.
  std::vector<std::shared_ptr<Exchange>> waiting;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) {
    waiting.push_back(std::move(exchange));
    if (waiting.size() < kMany) return;
    for (const auto& each : waiting) each->respond({.body = each->request().body});
    waiting.clear();
  };
  std::vector<Received> received(kMany);
  std::vector<Transfer> transfers;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    Receiver receiver = receive(received[i]);
    receiver.done = [&, i](Status status) {
      received[i].done = std::move(status);
      if (++ended == kMany) loop_.stop();
    };
    transfers.push_back(client_.start(
        post_of(fmt::format("http://127.0.0.1:{}/", server.port()), std::string(i * 100, 'b')), std::move(receiver)));
  }
  run();
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_TRUE(received[i].good()) << received[i].message();
    EXPECT_EQ(received[i].body.size(), i * 100);
  }
}

TEST_F(ClientTest, SendsALongBodyWhileALongAnswerComes) {
  TestServer server;
  server.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().body});
  };
  std::string body;
  while (body.size() < 1'900'000) body += fmt::format("{} ", body.size());
  const auto received = fetch(post_of(fmt::format("http://127.0.0.1:{}/", server.port()), body));
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_TRUE(received.body == body);
}

// A variable of the environment, for as long as it lives.
class Variable final {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(ClientTest, AsksTheEnvironmentForNothingAboutProxies) {
  FakeServer server([](FakeExchange& exchange) { exchange.answer(200, "direct"); });
  FakeServer proxy([](FakeExchange& exchange) { exchange.answer(200, "by proxy"); });
  const Variable dead("http_proxy", closed_url());
  const Variable dead_too("ALL_PROXY", closed_url());
  const Variable none("no_proxy", "*");
  auto request = get_of(server.url());
  EXPECT_EQ(fetch(request).body, "direct");
  request.proxy = proxy.url();
  EXPECT_EQ(fetch(request).body, "by proxy");
}

}  // namespace
}  // namespace agentd::http
