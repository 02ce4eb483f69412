#include "http/test_peers.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <utility>

namespace agentd::http {

namespace {

constexpr timeval kPatience{.tv_sec = 20, .tv_usec = 0};

}  // namespace

TestServer::TestServer(ServerLimits limits, const Clock& clock) {
  Handler& handler = *this;
  server_ = std::make_unique<Server>(loop_, clock, handler, connections_, losses_, limits);
  auto listener = net::Listener::open("http://127.0.0.1:0");
  EXPECT_TRUE(listener.has_value());
  const std::string& url = (*listener)->url();
  port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  server_->serve(std::move(*listener));
  thread_ = std::thread([this] { loop_.run(); });
}

TestServer::~TestServer() {
  loop_.stop();
  thread_.join();
  server_.reset();
}

void TestServer::on_loop(const std::function<void()>& work) {
  std::promise<void> done;
  loop_.post([&] {
    work();
    done.set_value();
  });
  await(done);
}

bool TestServer::wait_for_connections(std::size_t count) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < limit) {
    std::size_t now = 0;
    on_loop([&] { now = server_->connections(); });
    if (now == count) return true;
    std::this_thread::yield();
  }
  return false;
}

std::optional<Response> TestServer::check_header(const Request& header) {
  return on_header ? on_header(header) : std::nullopt;
}

void TestServer::handle(std::shared_ptr<Exchange> exchange) {
  if (on_request) return on_request(std::move(exchange));
  const Request& request = exchange->request();
  exchange->respond({.body = fmt::format("{} {} {}", request.method, request.path, request.body)});
}

TestClient::TestClient(std::uint16_t port, int receive_buffer) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (receive_buffer > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
}

TestClient::TestClient(Descriptor connected) : fd_(connected.release()) {
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
}

TestClient::~TestClient() { close(); }

void TestClient::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void TestClient::finish_sending() const { ::shutdown(fd_, SHUT_WR); }

void TestClient::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void TestClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server has closed; what it said before that can still be read
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool TestClient::fill() {
  std::string more(65536, '\0');
  const auto count = ::recv(fd_, more.data(), more.size(), 0);
  if (count <= 0) return false;
  buffer_.append(more, 0, static_cast<std::size_t>(count));
  return true;
}

std::string TestClient::read_some(std::size_t most) {
  if (!buffer_.empty()) {
    std::string out = buffer_.substr(0, most);
    buffer_.erase(0, out.size());
    return out;
  }
  std::string out(most, '\0');
  const auto count = ::recv(fd_, out.data(), out.size(), 0);
  out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return out;
}

bool TestClient::at_end() {
  if (!buffer_.empty()) return false;
  char byte = 0;
  const auto count = ::recv(fd_, &byte, 1, 0);
  return count == 0 || (count < 0 && errno == ECONNRESET);
}

std::string TestClient::take_line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!fill()) return "cut";
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

Reply TestClient::read_header() {
  Reply reply;
  const std::string status = take_line();
  if (!status.starts_with("HTTP/1.1 ")) return reply;
  for (std::string line; !(line = take_line()).empty();) {
    if (line == "cut") return reply;
    const auto colon = line.find(": ");
    EXPECT_NE(colon, std::string::npos) << line;
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_TRUE(reply.headers.emplace(name, line.substr(colon + 2)).second) << line;
  }
  reply.status = std::stoi(status.substr(9));
  return reply;
}

std::string TestClient::read_chunk() {
  std::string line = take_line();
  if (line == "cut") return line;
  const auto size = std::stoul(line, nullptr, 16);
  while (buffer_.size() < size + 2) {
    if (!fill()) return "cut";
  }
  std::string chunk = buffer_.substr(0, size);
  EXPECT_EQ(buffer_.substr(size, 2), "\r\n");
  buffer_.erase(0, size + 2);
  return chunk;
}

Reply TestClient::read_reply(bool of_head_request) {
  Reply reply = read_header();
  if (reply.status == 0) return reply;
  if (of_head_request || reply.status == 204 || reply.status == 304 || reply.status < 200) {
    reply.complete = true;
  } else if (reply.headers.contains("transfer-encoding")) {
    for (std::string chunk; !(chunk = read_chunk()).empty();) {
      if (chunk == "cut") return reply;
      reply.body += chunk;
    }
    reply.complete = true;
  } else if (reply.headers.contains("content-length")) {
    const auto size = std::stoul(reply.headers["content-length"]);
    while (buffer_.size() < size && fill()) {
    }
    reply.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    reply.complete = reply.body.size() == size;
  } else {
    while (fill()) {
    }
    reply.body = std::exchange(buffer_, {});
    reply.complete = true;
  }
  return reply;
}

std::string get(std::string_view path, std::string_view fields) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: test\r\n{}\r\n", path, fields);
}

}  // namespace agentd::http
