#include "ssebench/receiver.h"

#include <linux/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace ssebench {
namespace {

constexpr std::size_t kBuffer = 256 * 1024;
constexpr int kStalledReceiveBuffer = 4096;

// The first unsigned integer after `key`, with at most 6 bytes in between.
bool find_number(std::string_view line, std::string_view key, std::uint64_t& out) {
  const void* hit = memmem(line.data(), line.size(), key.data(), key.size());
  if (hit == nullptr) return false;
  const char* at = static_cast<const char*>(hit) + key.size();
  const char* end = line.data() + line.size();
  for (int skipped = 0; at < end && skipped < 6 && (*at < '0' || *at > '9'); ++skipped) ++at;
  const auto [past, error] = std::from_chars(at, end, out);
  return error == std::errc{} && past != at;
}

}  // namespace

Receiver::Receiver(const Options& options, Shared& shared, int first, int count)
    : options_(options), shared_(shared), address_(resolve(options.url)), buffer_(kBuffer), connections_(count) {
  for (std::size_t i = 0; i < options.rates.size() + 1; ++i) stats_.push_back(std::make_unique<Stats>());
  for (int i = 0; i < count; ++i) {
    connections_[i].index = first + i;
    connections_[i].stalled = first + i < options.stall;
  }
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
}

Receiver::~Receiver() {
  for (const Connection& c : connections_) {
    if (c.fd >= 0) close(c.fd);
  }
  close(epoll_);
}

void Receiver::run() {
  std::array<epoll_event, 1024> events;
  std::size_t next = 0;
  while (!shared_.stop.load(std::memory_order_relaxed)) {
    while (next < connections_.size() && connecting_ < options_.inflight) start(connections_[next++]);
    if (options_.reconnect_ms >= 0 && waiting_ > 0) retry_due();
    note_step();
    const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20);
    for (int i = 0; i < ready; ++i) on_event(*static_cast<Connection*>(events[i].data.ptr), events[i].events);
  }
}

// What the server wrote in one call arrives as one segment, however late it is read, so that events for each segment
// are events for each call. (More than that when it waits for a full window: then the kernel joins calls.)
void Receiver::note_step() {
  const int step = shared_.step.load(std::memory_order_relaxed);
  if (step == seen_step_) return;
  const std::uint64_t segments = segments_received();
  add(stats_[seen_step_]->segments, segments > segments_before_ ? segments - segments_before_ : 0);
  seen_step_ = step, segments_before_ = segments;
}

std::uint64_t Receiver::segments_received() const {
  std::uint64_t sum = 0;
  for (const Connection& c : connections_) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (c.fd >= 0 && getsockopt(c.fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) sum += info.tcpi_data_segs_in;
  }
  return sum;
}

void Receiver::start(Connection& c) {
  c.state = Connection::State::kIdle;
  c.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c.fd < 0) return fail(c, "socket");
  const int one = 1;
  setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const int receive_buffer = c.stalled ? kStalledReceiveBuffer : options_.rcvbuf;
  if (receive_buffer > 0) setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (options_.src_ips > 1) {  // from 127.0.0.2 on, past the 28,000 ports of one address
    sockaddr_in source{};
    source.sin_family = AF_INET;
    source.sin_addr.s_addr = htonl(0x7f000002u + static_cast<unsigned>(c.index % options_.src_ips));
    setsockopt(c.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(c.fd, reinterpret_cast<sockaddr*>(&source), sizeof source) != 0) return fail(c, "bind");
  }
  c.out = to_bytes({.url = options_.url,
                    .headers = options_.headers,
                    .accept = "text/event-stream",
                    .post = options_.has_post,
                    .body = options_.post,
                    .index = std::to_string(c.index),
                    .last_event_id = c.last_id});
  c.sent = 0, c.carry.clear(), c.dechunk = Dechunker(), c.has_data = false;
  c.state = Connection::State::kConnecting;
  ++connecting_;
  if (connect(c.fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0 && errno != EINPROGRESS) {
    return fail(c, "connect");
  }
  epoll_event event{};
  event.events = EPOLLOUT, event.data.ptr = &c;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event);
}

void Receiver::on_event(Connection& c, std::uint32_t events) {
  if (c.fd < 0) return;
  if (c.state == Connection::State::kConnecting || c.state == Connection::State::kSending) {
    on_writable(c, events);
  } else if (c.stalled && c.state == Connection::State::kBody) {
    on_stalled(c, events);
  } else {
    on_readable(c);
  }
}

void Receiver::on_writable(Connection& c, std::uint32_t events) {
  if (events & (EPOLLERR | EPOLLHUP)) return fail(c, "connect");
  if (c.state == Connection::State::kConnecting) {
    c.state = Connection::State::kSending;
    shared_.open.fetch_add(1);
  }
  while (c.sent < c.out.size()) {
    const ssize_t sent = send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN ? void() : fail(c, "send");
    c.sent += static_cast<std::size_t>(sent);
  }
  c.out = {};
  c.state = Connection::State::kHeader;
  watch(c, EPOLLIN | EPOLLRDHUP);
}

void Receiver::on_stalled(Connection& c, std::uint32_t events) {
  if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
  shared_.stalled_closed.fetch_add(1);
  close_for_good(c);
}

void Receiver::on_readable(Connection& c) {
  const std::size_t kept = c.state == Connection::State::kHeader ? c.carry.size() : 0;
  std::memcpy(buffer_.data(), c.carry.data(), kept);
  const ssize_t received = recv(c.fd, buffer_.data() + kept, kBuffer - kept, 0);
  if (received < 0 && errno == EAGAIN) return;
  if (received <= 0) return lose(c);
  Stats& stats = *stats_[shared_.step.load(std::memory_order_relaxed)];
  add(stats.reads, 1), add(stats.bytes, static_cast<std::uint64_t>(received));
  char* bytes = buffer_.data();
  std::size_t count = kept + static_cast<std::size_t>(received);
  if (c.state == Connection::State::kHeader && !read_header(c, bytes, count)) return;
  const std::size_t payload = c.dechunk.feed(bytes, count);
  if (payload > 0) parse(c, stats, {bytes, payload});
  if (c.dechunk.done()) lose(c);
}

// False: nothing of a body to read yet, or ever. Else `bytes` and `count` are what came of it.
bool Receiver::read_header(Connection& c, char*& bytes, std::size_t& count) {
  const std::string_view all(bytes, count);
  const std::size_t end = all.find("\r\n\r\n");
  if (end == all.npos) {
    c.carry = all;
    return false;
  }
  c.carry.clear();
  std::string head(all.substr(0, end));
  if (options_.dump_first && c.index == 0) std::fprintf(stderr, "%s\n\n", head.c_str());
  if (head.size() < 12 || head.compare(9, 3, "200") != 0) {
    if (!warned_) std::fprintf(stderr, "ssebench: HTTP error: %.*s\n", 200, head.c_str());
    warned_ = true;
    fail(c, nullptr);
    return false;
  }
  std::ranges::transform(head, head.begin(), [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  c.dechunk = Dechunker(head.find("transfer-encoding: chunked") != head.npos);
  c.state = Connection::State::kBody;
  --connecting_;
  shared_.ready.fetch_add(1);
  bytes += end + 4, count -= end + 4;
  if (c.stalled) watch(c, EPOLLRDHUP);
  return !c.stalled;
}

// Lines end with LF or CRLF; what has no end yet is carried to the next read.
void Receiver::parse(Connection& c, Stats& stats, std::string_view payload) {
  if (options_.dump_first && c.index == 0 && dumped_ < 6) {
    ++dumped_;
    std::fprintf(stderr, "--- payload\n%.*s", static_cast<int>(payload.size()), payload.data());
  }
  const std::uint64_t now = now_ns(options_.clock);
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t end = payload.find('\n', at);
    if (end == payload.npos) {
      c.carry.append(payload.substr(at));
      return;
    }
    if (c.carry.empty()) {
      parse_line(c, stats, payload.substr(at, end - at), now);
    } else {
      c.carry.append(payload.substr(at, end - at));
      parse_line(c, stats, c.carry, now);
      c.carry.clear();
    }
    at = end + 1;
  }
}

void Receiver::parse_line(Connection& c, Stats& stats, std::string_view line, std::uint64_t now) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) {
    if (c.has_data) add(stats.events, 1);
    c.has_data = false;
  } else if (line[0] == ':') {
    add(stats.comments, 1);
  } else if (line.starts_with("data")) {
    count_data(c, stats, line, now);
  } else if (options_.reconnect_ms >= 0 && line.starts_with("id:")) {
    line.remove_prefix(line.starts_with("id: ") ? 4 : 3);
    c.last_id = line;
  }
}

void Receiver::count_data(Connection& c, Stats& stats, std::string_view line, std::uint64_t now) {
  c.has_data = true;
  if (!c.greeted) first_data_.record(now_ns(ClockKind::kMonotonic) - shared_.begun_ns);
  c.greeted = true;
  std::uint64_t value = 0;
  if (!options_.ts_key.empty() && find_number(line, options_.ts_key, value)) {
    value *= options_.ts_unit_ns;
    stats.latency.record(now > value ? now - value : 0);
  }
  if (options_.seq_key.empty() || !find_number(line, options_.seq_key, value)) return;
  if (c.has_seq && value <= c.last_seq) {
    add(stats.dups, 1);
    return;
  }
  if (c.has_seq && value > c.last_seq + 1) add(stats.gaps, 1), add(stats.lost, value - c.last_seq - 1);
  c.last_seq = value, c.has_seq = true;
}

void Receiver::watch(Connection& c, std::uint32_t events) {
  epoll_event event{};
  event.events = events, event.data.ptr = &c;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event);
}

void Receiver::close_for_good(Connection& c) {
  if (c.fd >= 0) close(c.fd);
  c.fd = -1, c.state = Connection::State::kDead;
}

void Receiver::fail(Connection& c, const char* what) {
  if (what != nullptr && !warned_) {
    warned_ = true;
    std::fprintf(stderr, "ssebench: %s: %s\n", what, std::strerror(errno));
  }
  if (c.state != Connection::State::kIdle) --connecting_;
  shared_.failed.fetch_add(1);
  close_for_good(c);
}

void Receiver::lose(Connection& c) {
  if (c.state != Connection::State::kBody) return fail(c, "closed before the response");
  shared_.closed.fetch_add(1), shared_.ready.fetch_sub(1);
  close_for_good(c);
  if (options_.reconnect_ms < 0) return;
  c.state = Connection::State::kWaiting;
  c.retry_at = now_ns(ClockKind::kMonotonic) + static_cast<std::uint64_t>(options_.reconnect_ms) * 1'000'000u;
  ++waiting_;
}

void Receiver::retry_due() {
  const std::uint64_t now = now_ns(ClockKind::kMonotonic);
  for (Connection& c : connections_) {
    if (c.state != Connection::State::kWaiting || c.retry_at > now || connecting_ >= options_.inflight) continue;
    --waiting_;
    shared_.reconnects.fetch_add(1);
    start(c);
  }
}

}  // namespace ssebench
