// A server over TLS: what a reader sees, and what is not sent any more.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "http/test_peers.h"
#include "net/test_tls.h"

namespace agentd::http {
namespace {

constexpr timeval kPatience{.tv_sec = 20, .tv_usec = 0};

// One end of a connection to a server, blocking.
class TlsPeer final {
 public:
  explicit TlsPeer(Descriptor fd, net::TestTlsClient::Options options = {}) : fd_(std::move(fd)), tls_(options) {
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  }

  // The handshake, if there was none, comes first. False when it fails.
  bool say(std::string_view text) {
    flush();
    while (!tls_.open() && fill()) flush();
    if (!tls_.open()) return false;
    tls_.say(text);
    flush();
    return true;
  }
  // Says that, and waits for what TLS answers. False at the end of the connection.
  bool begin() {
    flush();
    return fill();
  }
  bool renegotiate() {
    tls_.renegotiate();
    return begin();
  }
  // Reads until `end` has been heard; what was heard up to there.
  std::string hear(std::string_view end) {
    while (heard_.find(end) == std::string::npos && fill()) {
    }
    const auto at = heard_.find(end);
    if (at == std::string::npos) return "";
    std::string out = heard_.substr(0, at + end.size());
    heard_.erase(0, out.size());
    return out;
  }
  // Everything up to the end of the connection.
  std::string hear_all() {
    while (fill()) {
    }
    return std::exchange(heard_, {});
  }
  [[nodiscard]] bool was_told_of_the_end() const { return tls_.was_told_of_the_end(); }
  void say_end() {
    tls_.say_end();
    flush();
  }
  void send_raw(std::string_view bytes) const { ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }

 private:
  void flush() { send_raw(tls_.outgoing()); }
  bool fill() {
    std::array<char, 65536> bytes;
    const auto count = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    tls_.take({bytes.data(), static_cast<std::size_t>(count)}, heard_);
    return true;
  }

  Descriptor fd_;
  net::TestTlsClient tls_;
  std::string heard_;
};

class ServerTls : public testing::Test {
 protected:
  // Its time is the system's, or what the test makes of hands_.
  explicit ServerTls(ServerLimits limits = {}, bool by_hand = false)
      : server_(limits, by_hand ? static_cast<const Clock&>(hands_) : kSystemClock) {
    auto context = net::TlsContext::load(files_.files, kSystemClock);
    EXPECT_TRUE(context.has_value());
    context_ = *std::move(context);
  }

  // The other end of a connection that the server has; small buffers, so that it is soon full.
  Descriptor connect() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    server_.on_loop([&] { server_.server().adopt(Descriptor(ends[0]), {.address = "192.0.2.1"}, context_->accept()); });
    return Descriptor(ends[1]);
  }

  net::TestTlsFiles files_{true};
  ManualClock hands_;
  std::shared_ptr<net::TlsContext> context_;
  TestServer server_;
};

constexpr std::size_t kEvent = 4'000;

// Events of that size, as many as asked for.
class Endless final : public StreamSource {
 public:
  bool peek(std::vector<StreamEvent>& out, std::size_t max_bytes) override {
    if (passed) state_now = State::kCut;
    for (std::size_t bytes = 0; bytes < max_bytes; bytes += event_->size()) out.push_back({event_, {*event_}});
    return true;
  }
  void consume(std::size_t count) override { consumed += count * event_->size(); }
  State state() const override { return state_now; }
  std::string keep_alive() override { return ""; }
  void closed() override { closed_promise.set_value(); }

  std::size_t consumed = 0;
  bool passed = false;
  State state_now = State::kOpen;
  std::promise<void> closed_promise;

 private:
  std::shared_ptr<const std::string> event_ = std::make_shared<const std::string>(kEvent, 'e');
};

TEST_F(ServerTls, AnswersAndIsKeptAlive) {
  TlsPeer peer(connect());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(peer.say(get(fmt::format("/{}", i))));
    EXPECT_TRUE(peer.hear(fmt::format("GET /{} ", i)).starts_with("HTTP/1.1 200"));
  }
  // Pipelined.
  peer.say(get("/a") + get("/b", "Connection: close\r\n"));
  EXPECT_NE(peer.hear("GET /a "), "");
  EXPECT_NE(peer.hear("GET /b "), "");
  EXPECT_EQ(peer.hear_all(), "");
  EXPECT_TRUE(peer.was_told_of_the_end());
}

TEST_F(ServerTls, ToldOfThePeersEndItSaysItsOwn) {
  TlsPeer peer(connect());
  peer.say(get("/"));
  peer.hear("GET / ");
  peer.say_end();
  peer.hear_all();
  EXPECT_TRUE(peer.was_told_of_the_end());
  EXPECT_TRUE(server_.wait_for_connections(0));
}

TEST_F(ServerTls, SendsABodyThatTheSocketDoesNotTakeAtOnce) {
  static const std::string body(5'000'000, 'b');  // outlives the server's thread
  server_.on_request = [](const std::shared_ptr<Exchange>& exchange) { exchange->respond({.body = body}); };
  TlsPeer peer(connect());
  peer.say(get("/", "Connection: close\r\n"));
  EXPECT_NE(peer.hear("\r\n\r\n"), "");
  EXPECT_TRUE(peer.hear_all() == body);
  EXPECT_TRUE(peer.was_told_of_the_end());
}

TEST_F(ServerTls, GivesTheRequestItsPeersCertificate) {
  std::promise<std::shared_ptr<const net::Certificate>> shown;
  server_.on_request = [&](const std::shared_ptr<Exchange>& exchange) {
    shown.set_value(exchange->request().peer.certificate);
    exchange->respond({});
  };
  const auto alice = net::make_identity("alice", "URI:spiffe://team/alice", &files_.authority);
  TlsPeer peer(connect(), {.shows = &alice});
  ASSERT_TRUE(peer.say(get("/")));
  const auto certificate = await(shown);
  ASSERT_NE(certificate, nullptr);
  EXPECT_EQ(certificate->cn, "alice");
  EXPECT_EQ(certificate->sans, std::vector<std::string>{"spiffe://team/alice"});
}

class ImpatientTls : public ServerTls {
 protected:
  ImpatientTls() : ServerTls({.header_timeout_ms = 100}) {}
};

TEST_F(ImpatientTls, ClosesWhatIsNoTlsAndAHandshakeThatDoesNotEnd) {
  for (const std::string& bytes : {get("/"), std::string("\x16\x03\x01", 3), std::string()}) {
    TlsPeer peer(connect());
    peer.send_raw(bytes);
    EXPECT_EQ(peer.hear_all(), "");
  }
  EXPECT_TRUE(server_.wait_for_connections(0));
  EXPECT_EQ(server_.losses(), (Json{{"handshake_timeouts", 2}}));
}

class TlsByTheClock : public ServerTls {
 protected:
  TlsByTheClock() : ServerTls({.header_timeout_ms = 100}, true) {}
};

TEST_F(TlsByTheClock, GivesAPeerNoMoreTimeForWhatTlsSaysOnItsOwn) {
  TlsPeer slow(connect());
  TlsPeer older(connect(), {.only_1_2 = true});
  ASSERT_TRUE(older.say("GET / HT"));
  hands_.advance_ms(90);
  EXPECT_TRUE(slow.begin()) << "it has the server's part of the handshake";
  EXPECT_TRUE(older.renegotiate()) << "it has the server's alert";
  hands_.advance_ms(20);
  slow.hear_all();
  older.hear_all();
  EXPECT_EQ(server_.losses(), (Json{{"handshake_timeouts", 1}, {"head_timeouts", 1}}));
}

class FullTls : public ServerTls {
 protected:
  FullTls() : ServerTls({.connections = 1}) {}
};

TEST_F(FullTls, ClosesOneTooManyBeforeItsHandshake) {
  TlsPeer first(connect());
  ASSERT_TRUE(first.say(get("/1")));
  EXPECT_NE(first.hear("GET /1 "), "");
  EXPECT_FALSE(TlsPeer(connect()).say(get("/2")));
  EXPECT_TRUE(first.say(get("/3")));
  EXPECT_NE(first.hear("GET /3 "), "");
}

// A stream whose reader has the head and reads no more, so that sealed bytes wait.
class StalledTls : public ServerTls {
 protected:
  StalledTls() {
    server_.on_request = [this](const std::shared_ptr<Exchange>& exchange) {
      wake_ = exchange->stream({}, source_, {});
    };
    peer_.say(get("/"));
    EXPECT_NE(peer_.hear("\r\n\r\n"), "");
    // A connection that is not blocked sends in every turn of the loop.
    for (std::size_t before = 1, now = 0; before != now;) {
      before = now;
      server_.on_loop([&] { now = source_->consumed; });
    }
  }

  // How much of the events comes until the connection ends.
  std::size_t hear_events() {
    const std::string heard = peer_.hear_all();
    return static_cast<std::size_t>(std::ranges::count(heard, 'e'));
  }

  std::shared_ptr<Endless> source_ = std::make_shared<Endless>();
  std::function<void()> wake_;
  TlsPeer peer_{connect()};
};

TEST_F(StalledTls, HearsNothingThatWaitedWhenItWasRevoked) {
  // Nobody wakes the stream: it is the reader's own reading that makes room, and gives the stream its turn.
  server_.on_loop([&] { source_->state_now = StreamSource::State::kRevoked; });
  const auto heard = hear_events();
  await(source_->closed_promise);
  EXPECT_LT(heard, source_->consumed - kEvent);  // the event that it is in the middle of is consumed
  EXPECT_FALSE(peer_.was_told_of_the_end());
}

TEST_F(StalledTls, IsCutAtOnceWhenItIsWokenAfterARevocation) {
  server_.on_loop([&] {
    source_->state_now = StreamSource::State::kRevoked;
    wake_();
  });
  await(source_->closed_promise);
  EXPECT_LT(hear_events(), source_->consumed - kEvent);
}

TEST_F(StalledTls, IsCutWhenItsSourceHasMovedOn) {
  server_.on_loop([&] {
    source_->passed = true;
    wake_();
  });
  await(source_->closed_promise);
  EXPECT_LT(hear_events(), source_->consumed - kEvent);
}

TEST_F(StalledTls, GoesOnWhereItWasWhenItsReaderDoes) {
  std::size_t before = 0;
  server_.on_loop([&] { before = source_->consumed; });
  std::size_t heard = 0;
  while (heard < before + 500'000) {
    const std::string event = peer_.hear("\r\n");
    ASSERT_NE(event, "");
    heard += static_cast<std::size_t>(std::ranges::count(event, 'e'));
  }
  std::size_t after = 0;
  server_.on_loop([&] {
    source_->state_now = StreamSource::State::kCut;
    wake_();
    after = source_->consumed;
  });
  EXPECT_GE(after, before + 400'000);
}

}  // namespace
}  // namespace agentd::http
