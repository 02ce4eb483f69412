// The client over TLS: whom it trusts, and through a proxy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/temporary_folder.h"
#include "http/client_fixture.h"
#include "http/fake_server.h"
#include "http/test_peers.h"
#include "net/test_tls.h"

namespace agentd::http {
namespace {

// A server whose certificate is localhost's, of a CA of its own.
class ClientTls : public ClientTest {
 protected:
  ClientTls() {
    files_.write(ca_, files_.authority.certificate);
    files_.write(other_ca_, net::make_identity("other-ca").certificate);
    auto context = net::TlsContext::load(files_.files, kSystemClock);
    EXPECT_TRUE(context.has_value());
    auto listener = net::Listener::open("https://127.0.0.1:0", *context);
    EXPECT_TRUE(listener.has_value());
    const std::string& url = (*listener)->url();
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    server_.on_loop([&] { server_.server().serve(std::move(*listener)); });
  }

  OutboundRequest request(const std::string& ca, const std::string& host = "localhost") const {
    auto request = get_of(fmt::format("https://{}:{}/", host, port_));
    request.ca = ca;
    return request;
  }

  const TemporaryFolder folder_;
  const std::string ca_ = folder_.path() + "/ca.pem";
  const std::string other_ca_ = folder_.path() + "/other.pem";
  net::TestTlsFiles files_;
  TestServer server_;
  std::uint16_t port_ = 0;
};

TEST_F(ClientTls, TrustsTheCaThatWasNamed) {
  const auto received = fetch(request(ca_));
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.body, "GET /secret ");
}

TEST_F(ClientTls, TrustsNobodyElse) {
  const auto of_the_system = fetch(request(""));
  EXPECT_EQ(of_the_system.code(), Code::kUnavailable);
  EXPECT_TRUE(
      of_the_system.message().starts_with(fmt::format("localhost:{}: its certificate is not trusted (", port_)));
  EXPECT_TRUE(of_the_system.message().ends_with("); if its CA is your own, name the file of that in `ca`"))
      << of_the_system.message();
  const auto of_another = fetch(request(other_ca_));
  EXPECT_EQ(of_another.code(), Code::kUnavailable);
  EXPECT_TRUE(of_another.message().ends_with(fmt::format("); see whether '{}' in `ca` holds its CA", other_ca_)))
      << of_another.message();
}

TEST_F(ClientTls, TrustsNoCertificateOfAnotherName) {
  const auto received = fetch(request(ca_, "127.0.0.1"));
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().contains("its certificate is another host's (")) << received.message();
}

TEST_F(ClientTls, SaysThatItsFileOfCasIsNone) {
  files_.write(other_ca_, "no PEM");
  for (const std::string& file : {folder_.path() + "/none.pem", other_ca_}) {
    const auto received = fetch(request(file));
    EXPECT_EQ(received.code(), Code::kUnavailable);
    EXPECT_TRUE(received.message().contains(fmt::format("'{}' in `ca` cannot be read", file))) << received.message();
  }
}

TEST_F(ClientTls, ReadsTheFileOfCasAgain) {
  EXPECT_FALSE(fetch(request(other_ca_)).good());
  files_.write(other_ca_, files_.authority.certificate);
  EXPECT_TRUE(fetch(request(other_ca_)).good());
}

TEST_F(ClientTls, UsesNoConnectionThatAnotherCaVouchedFor) {
  EXPECT_TRUE(fetch(request(ca_)).good());
  EXPECT_FALSE(fetch(request(other_ca_)).good());
  EXPECT_FALSE(fetch(request("")).good());
}

TEST_F(ClientTls, SaysThatTheOtherEndSpeaksNoTls) {
  const TestServer plain({.header_timeout_ms = 50});
  const auto received = fetch(get_of(fmt::format("https://localhost:{}/", plain.port())));
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_TRUE(received.message().contains("no TLS")) << received.message();
}

TEST_F(ClientTls, MovesMuchBothWays) {
  server_.on_request = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->respond({.body = exchange->request().body});
  };
  auto post = request(ca_);
  post.method = "POST";
  while (post.body.size() < 1'900'000) post.body += fmt::format("{} ", post.body.size());
  const auto received = fetch(post);
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_TRUE(received.body == post.body);
}

TEST_F(ClientTls, GoesThroughAProxyThatSeesNothingOfIt) {
  std::string asked;
  FakeServer proxy([&](FakeExchange& exchange) {
    asked = exchange.head();
    exchange.send("HTTP/1.1 200 Connected\r\nX-Of-The-Proxy: 1\r\n\r\n");
    exchange.relay(port_);
  });
  auto through = request(ca_);
  through.proxy = proxy.url();
  const auto received = fetch(through);
  EXPECT_TRUE(received.good()) << received.message();
  EXPECT_EQ(received.body, "GET /secret ");
  EXPECT_EQ(received.heads, 1);
  EXPECT_EQ(received.head.header("x-of-the-proxy"), "");
  EXPECT_TRUE(asked.starts_with(fmt::format("CONNECT localhost:{} HTTP/1.1\r\n", port_))) << asked;
  EXPECT_FALSE(asked.contains("secret")) << asked;
}

TEST_F(ClientTls, SaysThatTheProxyRefuses) {
  FakeServer proxy([](FakeExchange& exchange) { exchange.answer(403, "secret"); });
  auto through = request(ca_);
  through.proxy = proxy.url();
  const auto received = fetch(through);
  EXPECT_EQ(received.code(), Code::kUnavailable);
  EXPECT_EQ(received.message(), fmt::format("localhost:{}: the proxy refuses to connect to it (HTTP 403)", port_));
  EXPECT_EQ(received.heads, 0);
}

}  // namespace
}  // namespace agentd::http
