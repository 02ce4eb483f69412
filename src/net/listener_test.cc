#include "net/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/log.h"

namespace agentd::net {
namespace {

std::uint16_t port_of(const Listener& listener) {
  const std::string& url = listener.url();
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

int connect_v4(std::uint16_t port, const char* address = "127.0.0.1") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &to.sin_addr);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return fd;
  ::close(fd);
  return -1;
}

std::unique_ptr<Listener> open_at(const std::string& url) {
  auto listener = Listener::open(url);
  EXPECT_TRUE(listener.has_value()) << listener.error().message;
  return std::move(*listener);
}

TEST(Listener, FillsInThePortItWasGiven) {
  EXPECT_NE(port_of(*open_at("http://127.0.0.1:0")), 0);
  EXPECT_TRUE(open_at("http://[::1]:0/")->url().starts_with("http://[::1]:"));
}

TEST(Listener, RefusesWhatItCannotListenOn) {
  for (const char* url : {"", "127.0.0.1:1", "https://127.0.0.1:1", "http://127.0.0.1", "http://:80",
                          "http://127.0.0.1:x", "http://127.0.0.1:65536", "http://::1:80", "http://[127.0.0.1]:80",
                          "http://127.0.0.1:80/path", "unix://", "unix://relative"}) {
    const auto listener = Listener::open(url);
    ASSERT_FALSE(listener.has_value()) << url;
    EXPECT_EQ(listener.error().code, Code::kConfig) << url;
  }
}

TEST(Listener, SaysThatAPortIsInUse) {
  const auto first = open_at("http://127.0.0.1:0");
  const auto second = Listener::open(first->url());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_NE(second.error().message.find("in use"), std::string::npos);
}

TEST(Listener, GivesNonBlockingSocketsWithoutDelayAndTheirPeer) {
  Loop loop;
  const auto listener = open_at("http://127.0.0.1:0");
  listener->start(loop, [&](const Descriptor& fd, const Peer& peer, const auto&) {
    EXPECT_TRUE(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC);
    int no_delay = 0;
    socklen_t size = sizeof no_delay;
    ::getsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &size);
    EXPECT_NE(no_delay, 0);
    EXPECT_EQ(peer.address, "127.0.0.1");
    EXPECT_TRUE(peer.loopback);
    loop.stop();
  });
  const int client = connect_v4(port_of(*listener));
  loop.run();
  ::close(client);
}

TEST(Listener, KnowsAMappedAddressAsLoopback) {
  Loop loop;
  const auto listener = open_at("http://[::]:0");
  listener->start(loop, [&](const Descriptor&, const Peer& peer, const auto&) {
    EXPECT_EQ(peer.address, "127.0.0.1");
    EXPECT_TRUE(peer.loopback);
    loop.stop();
  });
  const int client = connect_v4(port_of(*listener));
  ASSERT_GE(client, 0);
  loop.run();
  ::close(client);
}

TEST(Listener, AcceptsMoreThanOneTurnTakes) {
  constexpr int kClients = 150;
  Loop loop;
  const auto listener = open_at("http://127.0.0.1:0");
  std::vector<int> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(connect_v4(port_of(*listener)));
  int count = 0;
  listener->start(loop, [&](const Descriptor&, const Peer&, const auto&) {
    if (++count == kClients) loop.stop();
  });
  loop.run();
  for (const int fd : clients) ::close(fd);
}

TEST(Listener, MayBeClosedByItsCallback) {
  Loop loop;
  const auto listener = open_at("http://127.0.0.1:0");
  const auto port = port_of(*listener);
  const int one = connect_v4(port);
  const int two = connect_v4(port);
  int count = 0;
  listener->start(loop, [&](const Descriptor&, const Peer&, const auto&) {
    ++count;
    listener->close();
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(count, 1);
  EXPECT_EQ(connect_v4(port), -1);
  ::close(one);
  ::close(two);
}

TEST(Listener, PausesWhileOutOfDescriptorsAndGoesOnAfterwards) {
  // UBSan needs a descriptor to look at an object it has not seen yet, such as the log's sink.
  log::configure(log::Level::kError, log::Format::kAuto);
  Loop loop;
  const auto listener = open_at("http://127.0.0.1:0");
  int accepted = 0;
  listener->start(loop, [&](const Descriptor&, const Peer&, const auto&) {
    ++accepted;
    loop.stop();
  });
  const int client = connect_v4(port_of(*listener));

  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  Timer relief(loop);
  rusage start{};
  ::getrusage(RUSAGE_SELF, &start);
  relief.arm(250, [&] {
    EXPECT_EQ(accepted, 0);
    ::setrlimit(RLIMIT_NOFILE, &before);
  });
  loop.run();
  rusage end{};
  ::getrusage(RUSAGE_SELF, &end);
  EXPECT_EQ(accepted, 1);
  // Spinning would have used the quarter of a second whole.
  const auto used_us =
      (end.ru_utime.tv_sec - start.ru_utime.tv_sec) * 1'000'000 + end.ru_utime.tv_usec - start.ru_utime.tv_usec;
  EXPECT_LT(used_us, 150'000);
  ::close(client);
}

}  // namespace
}  // namespace agentd::net
