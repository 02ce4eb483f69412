#include "http/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/test_peers.h"

namespace agentd::http {
namespace {

std::string post(std::string_view path, std::string_view body, std::string_view fields = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: test\r\n{}Content-Length: {}\r\n\r\n{}", path, fields, body.size(),
                     body);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Server, AnswersRequestAfterRequestOnOneConnection) {
  TestServer server;
  TestClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    const auto reply = client.exchange(post("/x", "body"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "POST /x body");
    EXPECT_FALSE(reply.headers.contains("connection"));
    EXPECT_TRUE(reply.headers.at("date").ends_with(" GMT"));
  }
}

TEST(Server, ClosesWhenAskedTo) {
  TestServer server;
  TestClient client(server.port());
  const auto reply = client.exchange(get("/x", "Connection: close\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST(Server, ServesHttp10AndCloses) {
  TestServer server;
  TestClient client(server.port());
  const auto reply = client.exchange("GET /x HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.body, "GET /x ");
  EXPECT_TRUE(client.at_end());
}

TEST(Server, AnswersAPeerThatHasFinishedSending) {
  TestServer server;
  server.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(20U << 20U, 'x')});
  };
  TestClient client(server.port(), 4096);
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.finish_sending();
  const auto reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body.size(), 20U << 20U);
}

TEST(Server, AnswersPipelinedRequestsInTheirOrder) {
  TestServer server;
  TestClient client(server.port());
  constexpr int kRequests = 500;
  std::string all;
  for (int i = 0; i < kRequests; ++i) all += post("/x", std::to_string(i));
  client.send(all);
  for (int i = 0; i < kRequests; ++i) ASSERT_EQ(client.read_reply().body, fmt::format("POST /x {}", i));
}

TEST(Server, ServesOneRequestAtATime) {
  TestServer server;
  std::vector<std::shared_ptr<Exchange>> open;
  std::promise<void> first;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) {
    open.push_back(std::move(exchange));
    if (open.size() == 1) first.set_value();
  };
  TestClient client(server.port());
  client.send(get("/one") + get("/two"));
  await(first);
  server.on_loop([&] {
    EXPECT_EQ(open.size(), 1U);
    open[0]->respond({.body = "1"});
    EXPECT_EQ(open.size(), 2U);
    open[1]->respond({.body = "2"});
  });
  EXPECT_EQ(client.read_reply().body, "1");
  EXPECT_EQ(client.read_reply().body, "2");
  server.on_loop([&] { open.clear(); });
}

TEST(Server, GivesHeadTheLengthWithoutTheBody) {
  TestServer server;
  TestClient client(server.port());
  client.send("HEAD /x HTTP/1.1\r\nHost: test\r\n\r\n" + get("/y"));
  const auto head = client.read_reply(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "8");
  EXPECT_EQ(client.read_reply().body, "GET /y ");
}

TEST(Server, SaysContinueBeforeTheBodyIsSent) {
  TestServer server;
  TestClient client(server.port());
  client.send("POST /x HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_header().status, 100);
  EXPECT_EQ(client.exchange("body").body, "POST /x body");
}

TEST(Server, DoesNotSayContinueToWhatItRefuses) {
  TestServer server;
  server.on_header = [](const Request&) { return Response{.status = 401}; };
  TestClient client(server.port());
  client.send("POST /x HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 401);
}

TEST(Server, RefusesByTheHeaderWithoutReadingTheBodyAndThePeerSeesWhy) {
  TestServer server;
  server.on_header = [](const Request& request) -> std::optional<Response> {
    EXPECT_EQ(request.peer.address, "127.0.0.1");
    EXPECT_TRUE(request.body.empty());
    return Response{.status = 401, .headers = {{"WWW-Authenticate", "Bearer"}}, .body = "who?"};
  };
  server.on_request = [](const std::shared_ptr<Exchange>&) { FAIL(); };
  TestClient client(server.port());
  const auto reply = client.exchange(post("/x", std::string(2U << 20U, 'x')));
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(reply.body, "who?");
  EXPECT_TRUE(client.at_end());
}

TEST(Server, RefusesABodyThatIsTooLargeAndThePeerSeesWhy) {
  TestServer server;
  server.on_request = [](const std::shared_ptr<Exchange>&) { FAIL(); };
  TestClient client(server.port());
  const auto reply = client.exchange(post("/x", std::string(3U << 20U, 'x')));
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(client.at_end());
  TestClient chunked(server.port());
  chunked.send("POST /x HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n300000\r\n");
  EXPECT_EQ(chunked.exchange(std::string(3U << 20U, 'x')).status, 413);
}

TEST(Server, LetsItsHandlerRefuseTheHeaderOfABodyThatIsTooLarge) {
  TestServer server;
  server.on_header = [](const Request& request) -> std::optional<Response> {
    if (request.path == "/known") return std::nullopt;
    return Response{.status = 401};
  };
  // And none of them is told to go on.
  for (const auto& [path, status] : {std::pair{"/unknown", 401}, {"/known", 413}}) {
    TestClient client(server.port());
    client.send(
        fmt::format("POST {} HTTP/1.1\r\nHost: test\r\n"
                    "Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n",
                    path));
    EXPECT_EQ(client.read_header().status, status);
  }
  TestClient unreadable(server.port());
  EXPECT_EQ(unreadable.exchange("POST / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n").status, 400);
}

TEST(Server, TakesABodyOfTheFullSize) {
  TestServer server;
  server.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::to_string(exchange->request().body.size())});
  };
  TestClient client(server.port());
  EXPECT_EQ(client.exchange(post("/x", std::string(2U << 20U, 'x'))).body, "2097152");
}

TEST(Server, RefusesWhatIsNotHttpAndCloses) {
  TestServer server;
  TestClient client(server.port());
  EXPECT_EQ(client.exchange("nonsense\r\n\r\n").status, 400);
  EXPECT_TRUE(client.at_end());
}

TEST(Server, ClosesAHeaderThatDoesNotArriveAndCountsIt) {
  TestServer server({.header_timeout_ms = 50});
  TestClient silent(server.port());
  EXPECT_TRUE(silent.at_end());
  TestClient slow(server.port());
  EXPECT_EQ(slow.exchange("GET / HT").status, 408);
  EXPECT_TRUE(slow.at_end());
  EXPECT_EQ(server.losses(), (Json{{"head_timeouts", 2}}));
}

TEST(Server, DoesNotGiveAHeaderMoreTimeForEveryByte) {
  TestServer server({.header_timeout_ms = 100});
  TestClient client(server.port());
  const auto start = std::chrono::steady_clock::now();
  std::atomic<bool> ended = false;
  std::thread drip([&] {
    client.send("GET / HTTP/1.1\r\nX: ");
    while (!ended) {
      client.send("x");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_EQ(client.read_reply().status, 408);
  ended = true;
  drip.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Server, ClosesABodyThatDoesNotArriveAndCountsIt) {
  TestServer server({.body_timeout_ms = 50});
  TestClient client(server.port());
  EXPECT_EQ(client.exchange("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbo").status, 408);
  EXPECT_EQ(server.losses(), (Json{{"body_timeouts", 1}}));
}

TEST(Server, ClosesAnIdleConnectionWhichIsNoLoss) {
  TestServer server({.idle_timeout_ms = 50});
  TestClient client(server.port());
  EXPECT_EQ(client.exchange(get("/")).status, 200);
  EXPECT_TRUE(client.at_end());
  EXPECT_EQ(server.losses(), Json::object());
}

TEST(Server, ClosesOnAPeerThatDoesNotReadItsAnswerAndCountsIt) {
  TestServer server({.body_timeout_ms = 50});
  server.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(50U << 20U, 'x')});
  };
  TestClient client(server.port(), 4096);
  client.send(get("/"));
  EXPECT_TRUE(server.wait_for_connections(1));
  EXPECT_TRUE(server.wait_for_connections(0));
  EXPECT_EQ(server.losses(), (Json{{"write_timeouts", 1}}));
}

TEST(Server, LetsAnAnswerComeLater) {
  TestServer server;
  std::promise<std::shared_ptr<Exchange>> arrived;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) { arrived.set_value(std::move(exchange)); };
  TestClient client(server.port());
  client.send(get("/"));
  auto exchange = await(arrived);
  server.on_loop([&] { exchange->respond({.status = 202}); });
  EXPECT_EQ(client.read_reply().status, 202);
  server.on_loop([&] { exchange.reset(); });
}

TEST(Server, TellsThatThePeerHasGoneAndIgnoresTheAnswer) {
  for (const bool by_reset : {false, true}) {
    TestServer server;
    std::shared_ptr<Exchange> open;
    std::promise<void> abandoned;
    server.on_request = [&](std::shared_ptr<Exchange> exchange) {
      open = std::move(exchange);
      open->on_abandoned([&] { abandoned.set_value(); });
    };
    TestClient client(server.port());
    EXPECT_TRUE(server.wait_for_connections(1));
    client.send(get("/"));
    bool asked = false;
    while (!asked) server.on_loop([&] { asked = open != nullptr; });
    by_reset ? client.reset() : client.close();
    await(abandoned);
    EXPECT_EQ(server.losses(), by_reset ? (Json{{"resets", 1}}) : Json::object());
    server.on_loop([&] {
      EXPECT_EQ(server.server().connections(), 0U);
      bool late = false;
      open->on_abandoned([&] { late = true; });
      EXPECT_TRUE(late);
      open->respond({});
      open.reset();
    });
  }
}

TEST(Server, Answers500ForAHandlerThatDropsItsRequest) {
  TestServer server;
  server.on_request = [](const std::shared_ptr<Exchange>&) {};
  TestClient client(server.port());
  EXPECT_EQ(client.exchange(get("/")).status, 500);
  EXPECT_EQ(client.exchange(get("/")).status, 500);
}

TEST(Server, TurnsAwayWhatIsOverItsCap) {
  TestServer server({.connections = 2});
  TestClient one(server.port());
  auto two = std::make_unique<TestClient>(server.port());
  EXPECT_EQ(one.exchange(get("/")).status, 200);
  EXPECT_EQ(two->exchange(get("/")).status, 200);
  TestClient three(server.port());
  EXPECT_EQ(three.exchange(get("/")).status, 503);
  EXPECT_TRUE(three.at_end());
  three.close();
  two.reset();
  EXPECT_TRUE(server.wait_for_connections(1));
  TestClient four(server.port());
  EXPECT_EQ(four.exchange(get("/")).status, 200);
}

// A client that comes from `address`, as far as the server knows.
TestClient client_from(TestServer& server, std::string address) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  server.on_loop([&] { server.server().adopt(Descriptor(ends[0]), {.address = std::move(address)}); });
  ::fcntl(ends[1], F_SETFL, 0);
  return TestClient(Descriptor(ends[1]));
}

TEST(Server, TurnsAwayWhatIsOverTheCapOfItsAddress) {
  TestServer server({.connections_per_source = 2});
  TestClient one = client_from(server, "192.0.2.1");
  TestClient two = client_from(server, "192.0.2.1");
  EXPECT_EQ(one.exchange(get("/")).status, 200);
  EXPECT_EQ(two.exchange(get("/")).status, 200);
  EXPECT_EQ(client_from(server, "192.0.2.1").exchange(get("/")).status, 503);
  EXPECT_EQ(client_from(server, "192.0.2.2").exchange(get("/")).status, 200);
  EXPECT_EQ(one.exchange(get("/")).status, 200) << "nobody is closed for a newcomer";
  two.close();
  ASSERT_TRUE(server.wait_for_connections(1));
  EXPECT_EQ(client_from(server, "192.0.2.1").exchange(get("/")).status, 200);
}

TEST(Server, ClosesWithoutAWordWhatComesToAFullServerWithMany) {
  TestServer server({.connections = 0});
  std::vector<std::unique_ptr<TestClient>> told;
  for (int i = 0; i < 64; ++i) told.push_back(std::make_unique<TestClient>(server.port()));
  ASSERT_TRUE(server.wait_for_connections(64));
  TestClient closed(server.port());
  EXPECT_TRUE(closed.at_end());
  EXPECT_EQ(told.back()->read_reply().status, 503);
}

TEST(Server, LeaksNoDescriptor) {
  TestServer server;
  {
    EXPECT_EQ(TestClient(server.port()).exchange(get("/")).status, 200);
  }
  ASSERT_TRUE(server.wait_for_connections(0));
  const auto before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    TestClient client(server.port());
    if (i % 3 == 0) {
      EXPECT_EQ(client.exchange(get("/")).status, 200);
    } else if (i % 3 == 1) {
      client.send("GET");
      client.reset();
    }
  }
  ASSERT_TRUE(server.wait_for_connections(0));
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Server, ShutsDownIdleConnectionsAtOnceAndAnswersWhatIsDue) {
  TestServer server;
  std::promise<std::shared_ptr<Exchange>> arrived;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) {
    if (exchange->request().path == "/now") return exchange->respond({});
    arrived.set_value(std::move(exchange));
  };
  TestClient idle(server.port());
  EXPECT_EQ(idle.exchange(get("/now")).status, 200);
  TestClient waiting(server.port());
  waiting.send(get("/later"));
  auto exchange = await(arrived);

  std::promise<void> done;
  server.on_loop([&] { server.server().shut_down(60'000, [&] { done.set_value(); }); });
  EXPECT_TRUE(idle.at_end());
  server.on_loop([&] {
    EXPECT_EQ(server.server().connections(), 1U);
    exchange->respond({.body = "last"});
    exchange.reset();
  });
  const auto reply = waiting.read_reply();
  EXPECT_EQ(reply.body, "last");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(waiting.at_end());
  waiting.close();
  await(done);
}

TEST(Server, CutsWhatIsNotDoneInTheGraceOfAShutdown) {
  TestServer server;
  std::promise<void> arrived;
  std::promise<void> abandoned;
  std::shared_ptr<Exchange> open;
  server.on_request = [&](std::shared_ptr<Exchange> exchange) {
    open = std::move(exchange);
    open->on_abandoned([&] { abandoned.set_value(); });
    arrived.set_value();
  };
  TestClient client(server.port());
  client.send(get("/"));
  await(arrived);
  std::promise<void> done;
  server.on_loop([&] { server.server().shut_down(20, [&] { done.set_value(); }); });
  await(abandoned);
  await(done);
  EXPECT_TRUE(client.at_end());
  server.on_loop([&] { open.reset(); });
}

TEST(Server, ShutsDownAtOnceWithoutConnections) {
  TestServer server;
  std::promise<void> done;
  bool inside = true;
  server.on_loop([&] {
    server.server().shut_down(60'000, [&] {
      EXPECT_FALSE(inside);
      done.set_value();
    });
    inside = false;
  });
  await(done);
}

}  // namespace
}  // namespace agentd::http
