#include "http/fake_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/descriptor.h"

namespace agentd::http {
namespace {

constexpr int kDeadlineMs = 10'000;

// Appends what arrives; false at the end of the connection or the deadline.
bool receive(int fd, std::string& into) {
  pollfd slot{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&slot, 1, kDeadlineMs) <= 0) return false;
  char buffer[16'384];
  const auto got = ::recv(fd, buffer, sizeof buffer, 0);
  if (got <= 0) return false;
  into.append(buffer, static_cast<std::size_t>(got));
  return true;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

bool FakeExchange::read_request() {
  std::string all;
  std::size_t end = 0;
  while ((end = all.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(fd_, all)) return false;
  }
  head_ = all.substr(0, end + 2);
  body_ = all.substr(end + 4);
  const auto at = head_.find("Content-Length: ");
  const std::size_t length = at == std::string::npos ? 0 : std::stoul(head_.substr(at + 16));
  while (body_.size() < length) {
    if (!receive(fd_, body_)) return false;
  }
  return true;
}

void FakeExchange::send(std::string_view bytes) { send_all(fd_, bytes); }

void FakeExchange::answer(int status, std::string_view body, std::string_view headers) {
  send(fmt::format("HTTP/1.1 {} X\r\n{}Connection: close\r\nContent-Length: {}\r\n\r\n{}", status, headers, body.size(),
                   body));
}

void FakeExchange::answer_result(const Json& result) {
  answer(200, dump_json({{"jsonrpc", "2.0"}, {"id", 1}, {"result", result}}));
}

void FakeExchange::begin_events() {
  send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void FakeExchange::send_chunk(std::string_view bytes) { send(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes)); }

void FakeExchange::send_result(const Json& result) {
  send_chunk(fmt::format("data: {}\n\n", dump_json({{"jsonrpc", "2.0"}, {"id", 1}, {"result", result}})));
}

void FakeExchange::cut() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void FakeExchange::wait_for_peer() {
  std::string rest;
  while (receive(fd_, rest)) {
  }
}

void FakeExchange::relay(std::uint16_t port) {
  const Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(port);
  if (::connect(other.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  pollfd ends[] = {{.fd = fd_, .events = POLLIN, .revents = 0}, {.fd = other.get(), .events = POLLIN, .revents = 0}};
  while (::poll(ends, 2, kDeadlineMs) > 0) {
    const bool from_peer = ends[0].revents != 0;
    std::string bytes;
    if (!receive(ends[from_peer ? 0 : 1].fd, bytes)) return;
    send_all(ends[from_peer ? 1 : 0].fd, bytes);
  }
}

FakeServer::FakeServer(Handler handler)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  AGENTD_CHECK(::bind(listener_, generic, size) == 0 && ::listen(listener_, 16) == 0, "no loopback socket");
  AGENTD_CHECK(::getsockname(listener_, generic, &size) == 0, "no name of the loopback socket");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

FakeServer::FakeServer(const std::string& socket, Handler handler)
    : handler_(std::move(handler)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  AGENTD_CHECK(socket.size() < sizeof address.sun_path, "a path for a unix socket");
  socket.copy(address.sun_path, socket.size());
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  AGENTD_CHECK(::bind(listener_, generic, sizeof address) == 0 && ::listen(listener_, 16) == 0, "no unix socket");
  acceptor_ = std::thread([this] { accept_loop(); });
}

FakeServer::~FakeServer() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (auto& thread : threads_) thread.join();
}

std::string FakeServer::url() const { return fmt::format("http://127.0.0.1:{}/", port_); }

void FakeServer::accept_loop() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] {
      FakeExchange exchange(fd);
      if (exchange.read_request()) handler_(exchange);
      const std::lock_guard closing(mutex_);
      std::erase(open_, fd);
      ::close(fd);
    });
  }
}

}  // namespace agentd::http
