#include "ssebench/publisher.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "ssebench/http.h"

namespace ssebench {

Publisher::Publisher(const Options& options, Shared& shared)
    : options_(options), shared_(shared), address_(resolve(options.pub_url)), links_(options.pub_conns) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (Link& link : links_) reopen(link);
}

Publisher::~Publisher() {
  for (const Link& link : links_) close(link.fd);
  close(epoll_);
}

void Publisher::run() {
  while (!shared_.pub_stop.load(std::memory_order_relaxed)) {
    if (const double wanted = shared_.pub_rate.load(std::memory_order_relaxed); wanted != rate_) {
      rate_ = wanted, next_ = now_ns(options_.clock);
      interval_ = rate_ > 0 ? static_cast<std::uint64_t>(1e9 / rate_) : 0;
    }
    if (rate_ < 0) {
      usleep(1000);
      continue;
    }
    send_due();
    wait();
  }
}

void Publisher::send_due() {
  const std::uint64_t now = now_ns(options_.clock);
  for (Link& link : links_) {
    if (link.busy || (interval_ != 0 && next_ > now)) continue;
    publish(link, interval_ != 0 ? next_ : now);
    next_ += interval_;
  }
}

// For an answer; or, when none is due, until just before the next message is.
void Publisher::wait() {
  const bool any_busy = std::ranges::any_of(links_, [](const Link& link) { return link.busy; });
  const std::uint64_t now = now_ns(options_.clock);
  if (!any_busy && interval_ != 0 && next_ > now) {
    if (const std::uint64_t gap = next_ - now; gap > 200'000) {
      const timespec pause{0, static_cast<long>(std::min<std::uint64_t>(gap - 100'000, 20'000'000))};
      nanosleep(&pause, nullptr);
    }
    return;
  }
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), any_busy ? 1 : 0);
  for (int i = 0; i < ready; ++i) on_readable(links_[events[i].data.u32]);
}

void Publisher::reopen(Link& link) {
  if (link.fd >= 0) close(link.fd);
  link.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(link.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(link.fd, reinterpret_cast<sockaddr*>(&address_), sizeof address_) != 0) die("publisher connect failed");
  epoll_event event{};
  event.events = EPOLLIN, event.data.u32 = static_cast<std::uint32_t>(&link - links_.data());
  epoll_ctl(epoll_, EPOLL_CTL_ADD, link.fd, &event);
  link.busy = false, link.in.clear();
}

void Publisher::publish(Link& link, std::uint64_t stamp) {
  std::string body = options_.pub_body.empty() ? R"({"seq":{seq},"ts_ns":{ts},"pad":"{pad}"})" : options_.pub_body;
  replace_all(body, "{seq}", std::to_string(++count_));
  replace_all(body, "{ts}", std::to_string(stamp));
  const int without_pad = static_cast<int>(body.size()) - (body.find("{pad}") != body.npos ? 5 : 0);
  replace_all(body, "{pad}", std::string(std::max(0, options_.pub_size - without_pad), 'x'));
  const std::string request = to_bytes({.url = options_.pub_url,
                                        .headers = options_.pub_headers,
                                        .accept = "*/*",
                                        .post = true,
                                        .body = std::move(body),
                                        .index = "0",
                                        .last_event_id = {}});
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t some = send(link.fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) {
      shared_.pub_errors.fetch_add(1);
      return reopen(link);
    }
    sent += static_cast<std::size_t>(some);
  }
  link.busy = true;
  shared_.published.fetch_add(1, std::memory_order_relaxed);
}

void Publisher::on_readable(Link& link) {
  std::array<char, 16384> bytes;
  const ssize_t received = recv(link.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (received < 0 && errno == EAGAIN) return;
  if (received <= 0) {
    if (link.busy) shared_.pub_errors.fetch_add(1);
    return reopen(link);
  }
  link.in.append(bytes.data(), static_cast<std::size_t>(received));
  const std::size_t end = link.in.find("\r\n\r\n");
  if (end == link.in.npos) return;
  std::string head = link.in.substr(0, end + 2);
  std::ranges::transform(head, head.begin(), [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  std::size_t size = end + 4;
  if (const std::size_t at = head.find("\r\ncontent-length:"); at != head.npos) {
    size += static_cast<std::size_t>(std::strtoull(head.c_str() + at + 17, nullptr, 10));
  } else if (head.find("transfer-encoding: chunked") != head.npos) {
    const std::size_t last = link.in.find("0\r\n\r\n", end);
    if (last == link.in.npos) return;
    size = last + 5;
  }
  if (link.in.size() < size) return;
  finish(link, head);
  link.in.erase(0, size);
}

void Publisher::finish(Link& link, const std::string& head) {
  if (head.size() > 9 && head[9] != '2' && shared_.pub_errors.fetch_add(1) == 0) {
    std::fprintf(stderr, "ssebench: publish failed: %s\n", link.in.c_str());
  }
  link.busy = false;
  const bool closes = head.find("\r\nconnection: close") != head.npos || head.starts_with("http/1.0");
  if (closes || options_.pub_close) reopen(link);
}

}  // namespace ssebench
