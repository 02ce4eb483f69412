// Where a request may lead that somebody else gave the URL of; what is kept between requests; proxies and names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "http/client_fixture.h"
#include "http/fake_server.h"
#include "http/test_network.h"
#include "http/test_peers.h"

namespace agentd::http {
namespace {

// A server that counts its connections and says "inside".
class ClientGate : public ClientTest {
 protected:
  Received fetch_public(const std::string& host) {
    auto request = get_of(fmt::format("http://{}:{}/", host, server_.port()));
    request.reach = Reach::kPublic;
    return fetch(request);
  }
  Received fetch_anywhere(const std::string& host) {
    return fetch(get_of(fmt::format("http://{}:{}/", host, server_.port())));
  }
  std::size_t connections() {
    std::size_t now = 0;
    server_.on_loop([&] { now = server_.server().connections(); });
    return now;
  }

  TestServer server_;
};

TEST_F(ClientGate, LetsNobodyInWhateverTheAddressIsWrittenLike) {
  for (const char* host : {"127.0.0.1",
                           "localhost",
                           "LOCALHOST",
                           "a.localhost",
                           "inside.test",
                           "2130706433",
                           "0x7f.1",
                           "0x7f000001",
                           "017700000001",
                           "0177.0.0.1",
                           "127.1",
                           "127.0.1",
                           "0",
                           "0.0.0.0",
                           "[::1]",
                           "[::]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:7f00:1]",
                           "[0:0:0:0:0:0:0:1]",
                           "[::127.0.0.1]",
                           "[64:ff9b::7f00:1]",
                           "[2002:7f00:1::]",
                           "[fe80::1%25lo]",
                           "%6c%6f%63%61lhost",
                           "1%32%37.0.0.1",
                           "user:secret@127.0.0.1",
                           "10.0.0.1",
                           "169.254.169.254",
                           "192.168.0.1",
                           "[fd00:ec2::254]"}) {
    const auto received = fetch_public(host);
    EXPECT_EQ(received.code(), Code::kPermissionDenied) << host << ": " << received.message();
    EXPECT_EQ(received.heads, 0);
  }
  EXPECT_EQ(connections(), 0);
}

TEST_F(ClientGate, SaysWhichAddressAndWhy) {
  EXPECT_EQ(
      fetch_public("inside.test").message(),
      fmt::format(
          "inside.test:{}: the address is 127.0.0.1 (loopback); a URL that the configuration does not hold may lead to "
          "public addresses only",
          server_.port()));
}

TEST_F(ClientGate, LetsByWhatIsPublic) {
  for (const char* host : {kPublicAddress, "outside.test", "both.test"}) {
    const auto received = fetch_public(host);
    EXPECT_TRUE(received.good()) << received.message();
    EXPECT_EQ(received.body, "GET /secret ");
  }
}

TEST_F(ClientGate, LetsByWhatTheOperatorNamed) {
  for (const char* host : {"127.0.0.1", "localhost", "inside.test", "2130706433"}) {
    EXPECT_TRUE(fetch_anywhere(host).good()) << host;
  }
}

TEST_F(ClientGate, IsNotPassedByARedirectOfAPublicServer) {
  FakeServer redirecting([this](FakeExchange& exchange) {
    exchange.answer(307, "", fmt::format("Location: http://127.0.0.1:{}/\r\n", server_.port()));
  });
  const std::string port = redirecting.url().substr(redirecting.url().rfind(':') + 1);
  auto request = get_of("http://outside.test:" + port);
  request.reach = Reach::kPublic;
  EXPECT_EQ(fetch(request).head.status, 307);
  EXPECT_EQ(connections(), 0);
}

TEST_F(ClientGate, IsNotPassedOnAConnectionThatWasKeptForTheOperator) {
  EXPECT_TRUE(fetch_anywhere("127.0.0.1").good());
  EXPECT_TRUE(fetch_anywhere("inside.test").good());
  EXPECT_EQ(connections(), 2);
  EXPECT_EQ(fetch_public("127.0.0.1").code(), Code::kPermissionDenied);
  EXPECT_EQ(fetch_public("inside.test").code(), Code::kPermissionDenied);
}

TEST_F(ClientGate, AppliesToAProxyAndNotToWhatIsBehindIt) {
  FakeServer proxy([](FakeExchange& exchange) { exchange.answer(200, exchange.head()); });
  auto request = get_of("http://10.0.0.1:81/");
  request.proxy = proxy.url();
  EXPECT_TRUE(fetch(request).body.starts_with("GET http://10.0.0.1:81/secret?q=secret HTTP/1.1\r\n"));
  request.reach = Reach::kPublic;
  const auto received = fetch(request);
  EXPECT_EQ(received.code(), Code::kPermissionDenied);
  EXPECT_TRUE(received.message().starts_with("10.0.0.1:81: the address of its proxy is 127.0.0.1 (loopback);"))
      << received.message();
}

TEST_F(ClientGate, KeepsAConnectionForTheNextRequestToThere) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fetch_anywhere("127.0.0.1").good());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fetch_public("outside.test").good());
  EXPECT_EQ(connections(), 2);
}

TEST_F(ClientGate, KeepsNoConnectionOnWhichAnAnswerWasGivenUp) {
  server_.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = std::string(4U << 20U, 'b')});
  };
  Received received;
  Receiver receiver = receive(received);
  std::optional<Transfer> transfer;
  receiver.body = [&](std::string_view) {
    transfer.reset();
    loop_.stop();
  };
  transfer = client_.start(get_of(fmt::format("http://127.0.0.1:{}/", server_.port())), std::move(receiver));
  run();
  EXPECT_TRUE(server_.wait_for_connections(0));
  EXPECT_EQ(fetch_anywhere("127.0.0.1").body.size(), 4U << 20U);
}

// What the server does on a connection after its first answer.
class ClientKeeps : public ClientTest {
 protected:
  std::atomic<int> second_requests_ = 0;
  FakeServer server_{[this](FakeExchange& exchange) {
    exchange.send("HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\nfirst");
    if (exchange.read_request()) ++second_requests_;
  }};
};

TEST_F(ClientKeeps, APostIsNotSentASecondTime) {
  EXPECT_EQ(fetch(get_of(server_.url())).body, "first");
  const auto received = fetch(post_of(server_.url()));
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().ends_with(": a connection that was kept ended before the answer"))
      << received.message();
  EXPECT_EQ(second_requests_, 1);
}

TEST_F(ClientKeeps, WhatIsIdempotentIsSentAgainOnANewConnection) {
  EXPECT_EQ(fetch(get_of(server_.url())).body, "first");
  int died = 0;
  for (const char* method : {"GET", "PUT", "DELETE"}) {
    auto request = get_of(server_.url());
    request.method = method;
    EXPECT_EQ(fetch(request).body, "first") << method;
    EXPECT_EQ(second_requests_, ++died) << method;
  }
}

using ClientNames = ClientTest;

TEST_F(ClientNames, ThatAreNotResolvedInTimeHoldNothingUp) {
  SlowNames slow;
  auto request = get_of("http://slow.test:81/");
  request.deadlines.connect_ms = 50;
  const auto received = fetch(request);
  EXPECT_EQ(received.code(), Code::kTimeout);
  EXPECT_EQ(received.message(), "slow.test:81: no connection in 50 ms");
  request.deadlines = {.first_byte_ms = 50};
  EXPECT_EQ(fetch(request).message(), "slow.test:81: no answer in 50 ms");

  Received cancelled;
  {
    const Transfer transfer = client_.start(request, receive(cancelled));
    loop_.post([&] {
      slow.await_question();
      loop_.stop();
    });
    run();
  }
  EXPECT_FALSE(cancelled.done);
}

TEST_F(ClientNames, ThatDoNotExistAreSaidToBe) {
  for (const char* host : {"none.invalid", "secret@none.invalid"}) {
    const auto received = fetch(get_of(fmt::format("http://{}/", host)));
    EXPECT_EQ(received.code(), Code::kUnavailable);
    EXPECT_EQ(received.message(), "none.invalid:80: the name has no address; check it, and this machine's DNS");
  }
  auto request = get_of("http://10.0.0.1/");
  request.proxy = "http://none.invalid:3128/";
  EXPECT_EQ(fetch(request).message(),
            "10.0.0.1:80: the name of the proxy has no address; check it, and this machine's DNS");
}

}  // namespace
}  // namespace agentd::http
