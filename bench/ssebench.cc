// ssebench - load generator for Server-Sent-Event feeds (HTTP/1.1, plain TCP).
//
// Opens N SSE subscriptions (GET, or POST when --post is given), optionally
// drives a publisher at one or more fixed rates, and reports per step:
// deliveries/s, bytes/s, delivery-latency percentiles, gaps / duplicates, and
// CPU + memory of the server process(es).
//
// Build:  make bench (build/release/ssebench)
//
// Latency: the payload must contain KEY followed (within 6 non-digit bytes) by
// a timestamp in ns, e.g. "ts_ns":1234.  With the built-in publisher at a
// fixed rate the stamp is the *intended* send time, so a server that stalls the
// publisher is charged for it (no coordinated omission).
//
// Example (nchan):
//   ssebench --url 'http://127.0.0.1:8090/sub?id=a' -c 1000 -d 5
//            --pub-url 'http://127.0.0.1:8090/pub?id=a' --pub-rates 50,100,200
//            --pid 1234
// Example (JSON-RPC over POST, {i} = connection index):
//   ssebench --url http://127.0.0.1:9000/rpc -c 2000 -H 'Authorization: Bearer t{i}'
//            --post '{"jsonrpc":"2.0","id":{i},"method":"feed/subscribe"}'
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

// ------------------------------------------------------------------ utility
enum class Clock { mono, real };

struct Url {
  std::string host = "127.0.0.1", port = "80", target = "/";
};

struct Options {
  Url url, pub_url;
  bool has_pub = false;
  int connections = 100, threads = 1;
  double duration = 5, warmup = 1;
  std::vector<std::string> headers, pub_headers;
  std::string post, pub_body;
  bool has_post = false;
  std::vector<double> rates{0};  // 0 = closed loop, as fast as the server lets us
  int pub_size = 300, pub_conns = 1;
  std::string ts_key = "ts_ns", seq_key = "seq";
  Clock clock = Clock::mono;
  std::vector<int> pids;
  int stall = 0, rcvbuf = 0, src_ips = 1, inflight = 128, reconnect_ms = -1;
  int cpu = -1;
  bool json = false, dump_first = false, pub_close = false;
};

[[noreturn]] void die(const std::string& msg) {
  std::fprintf(stderr, "ssebench: %s\n", msg.c_str());
  std::exit(2);
}

uint64_t now_ns(Clock c) {
  timespec ts{};
  clock_gettime(c == Clock::mono ? CLOCK_MONOTONIC : CLOCK_REALTIME, &ts);
  return uint64_t(ts.tv_sec) * 1'000'000'000u + uint64_t(ts.tv_nsec);
}

Url parse_url(std::string_view s) {
  Url u;
  constexpr std::string_view scheme = "http://";
  if (!s.starts_with(scheme)) die("only http:// URLs are supported");
  s.remove_prefix(scheme.size());
  auto slash = s.find('/');
  std::string_view auth = s.substr(0, slash);
  if (slash != s.npos) u.target = std::string(s.substr(slash));
  if (auto colon = auth.rfind(':'); colon != auth.npos) {
    u.port = std::string(auth.substr(colon + 1));
    auth = auth.substr(0, colon);
  }
  u.host = std::string(auth);
  return u;
}

sockaddr_in resolve(const Url& u) {
  addrinfo hints{}, *res = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  if (int rc = getaddrinfo(u.host.c_str(), u.port.c_str(), &hints, &res); rc != 0)
    die("resolve " + u.host + ": " + gai_strerror(rc));
  sockaddr_in a{};
  std::memcpy(&a, res->ai_addr, sizeof a);
  freeaddrinfo(res);
  return a;
}

void replace_all(std::string& s, std::string_view from, std::string_view to) {
  for (size_t p = 0; (p = s.find(from, p)) != s.npos; p += to.size()) s.replace(p, from.size(), to);
}

std::string build_request(const Url& u, const std::vector<std::string>& headers, bool post, std::string body,
                          std::string_view accept, const std::string& index, const std::string& last_id) {
  replace_all(body, "{i}", index);
  std::string target = u.target;
  replace_all(target, "{i}", index);
  std::string r = (post ? "POST " : "GET ") + target + " HTTP/1.1\r\nHost: " + u.host + ":" + u.port +
                  "\r\nAccept: " + std::string(accept) + "\r\n";
  bool has_ct = false;
  for (auto h : headers) {
    replace_all(h, "{i}", index);
    if (strncasecmp(h.c_str(), "content-type:", 13) == 0) has_ct = true;
    r += h + "\r\n";
  }
  if (!last_id.empty()) r += "Last-Event-ID: " + last_id + "\r\n";
  if (post) {
    if (!has_ct) r += "Content-Type: application/json\r\n";
    r += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  r += "\r\n";
  if (post) r += body;
  return r;
}

// Log-linear histogram: 64 sub-buckets per power of two (< 1.6 % error).
class Histogram {
 public:
  void add(uint64_t v) { bump(cells_[index(v)]); }
  uint64_t total() const {
    uint64_t n = 0;
    for (auto& c : cells_) n += c.load(std::memory_order_relaxed);
    return n;
  }
  void merge(const Histogram& o) {
    for (size_t i = 0; i < cells_.size(); ++i)
      cells_[i].store(cells_[i].load(std::memory_order_relaxed) + o.cells_[i].load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  }
  uint64_t quantile(double q) const {
    const uint64_t n = total();
    if (n == 0) return 0;
    const auto rank = std::max<uint64_t>(1, uint64_t(std::ceil(q * double(n))));
    uint64_t seen = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      seen += cells_[i].load(std::memory_order_relaxed);
      if (seen >= rank) return upper(i);
    }
    return upper(cells_.size() - 1);
  }

 private:
  static constexpr int kSub = 6;
  static void bump(std::atomic<uint64_t>& c) {  // single writer
    c.store(c.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static size_t index(uint64_t v) {
    if (v < (1u << kSub)) return size_t(v);
    const int msb = 63 - __builtin_clzll(v);
    return size_t((msb - kSub + 1) << kSub) + size_t((v >> (msb - kSub)) & ((1u << kSub) - 1));
  }
  static uint64_t upper(size_t i) {
    if (i < (1u << kSub)) return i;
    const int shift = int(i >> kSub) - 1;
    return (((uint64_t(i) & ((1u << kSub) - 1)) | (1u << kSub)) << shift) + ((1ull << shift) - 1);
  }
  std::array<std::atomic<uint64_t>, (64 - kSub + 1) << kSub> cells_{};
};

struct Stats {  // one per (thread, step); single writer, relaxed readers
  std::atomic<uint64_t> events{0}, bytes{0}, comments{0}, reads{0}, gaps{0}, lost{0}, dups{0};
  Histogram latency;
};

inline void add(std::atomic<uint64_t>& a, uint64_t v) {
  a.store(a.load(std::memory_order_relaxed) + v, std::memory_order_relaxed);
}

struct Shared {
  std::atomic<int> step{0};  // index into Stats arrays; 0 = discard
  std::atomic<int> open{0}, ready{0}, failed{0}, closed{0}, stalled_closed{0}, reconnects{0};
  std::atomic<uint64_t> first_stall_close_ns{0};
  std::atomic<bool> stop{false}, pub_stop{false};
  std::atomic<double> pub_rate{0};
  std::atomic<uint64_t> published{0}, pub_errors{0};
};

// Parses the first unsigned integer after `key` (at most 6 bytes in between).
bool find_number(std::string_view line, std::string_view key, uint64_t& out) {
  const void* hit = memmem(line.data(), line.size(), key.data(), key.size());
  if (!hit) return false;
  const char* p = static_cast<const char*>(hit) + key.size();
  const char* end = line.data() + line.size();
  for (int skip = 0; p < end && skip < 6 && (*p < '0' || *p > '9'); ++skip) ++p;
  auto [q, ec] = std::from_chars(p, end, out);
  return ec == std::errc{} && q != p;
}

// ------------------------------------------------------- HTTP body de-framing
// In-place de-chunker: turns [p, p+n) of raw body bytes into payload bytes.
struct Dechunker {
  bool chunked = false;
  enum { size_line, data, data_crlf, done } state = size_line;
  uint64_t remaining = 0;
  size_t feed(char* p, size_t n) {
    if (!chunked) return n;
    size_t r = 0, w = 0;
    while (r < n && state != done) {
      if (state == data) {
        const size_t take = size_t(std::min<uint64_t>(remaining, n - r));
        if (w != r) std::memmove(p + w, p + r, take);
        w += take, r += take, remaining -= take;
        if (remaining == 0) state = data_crlf;
        continue;
      }
      const char c = p[r++];
      if (state == data_crlf) {
        if (c == '\n') state = size_line;
      } else if (c == '\n') {
        if (in_ext_ || digits_) state = remaining == 0 ? done : data;
        in_ext_ = false, digits_ = false;
      } else if (!in_ext_) {
        const int h = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (h >= 0) {
          if (!digits_) remaining = 0;
          digits_ = true, remaining = remaining * 16 + unsigned(h);
        } else {
          in_ext_ = true;
        }
      }
    }
    return w;
  }

 private:
  bool in_ext_ = false, digits_ = false;
};

// -------------------------------------------------------------- subscriber
struct Conn {
  int fd = -1, index = 0;
  enum { idle, connecting, sending, header, body, waiting, dead } state = idle;
  bool stalled = false, has_data = false, have_seq = false;
  uint64_t last_seq = 0, retry_at = 0;
  size_t sent = 0;
  std::string out, carry, last_id;
  Dechunker dechunk;
};

class Receiver {
 public:
  Receiver(const Options& o, Shared& sh, int first, int count, size_t steps)
      : opt_(o), sh_(sh), addr_(resolve(o.url)), buf_(kBuf + 64), conns_(size_t(count)) {
    for (size_t i = 0; i < steps + 1; ++i) stats_.push_back(std::make_unique<Stats>());
    for (int i = 0; i < count; ++i) {
      conns_[size_t(i)].index = first + i;
      conns_[size_t(i)].stalled = first + i < o.stall;
    }
    ep_ = epoll_create1(EPOLL_CLOEXEC);
  }
  ~Receiver() {
    for (auto& c : conns_)
      if (c.fd >= 0) close(c.fd);
    close(ep_);
  }
  Stats& stats(size_t i) { return *stats_[i]; }

  void run() {
    std::array<epoll_event, 1024> ev;
    size_t next = 0;
    while (!sh_.stop.load(std::memory_order_relaxed)) {
      while (next < conns_.size() && inflight_ < opt_.inflight) start(conns_[next++]);
      if (opt_.reconnect_ms >= 0 && waiting_ > 0) retry_due();
      const int n = epoll_wait(ep_, ev.data(), int(ev.size()), 20);
      for (int i = 0; i < n; ++i) {
        Conn& c = *static_cast<Conn*>(ev[size_t(i)].data.ptr);
        if (c.fd < 0) continue;
        if (c.state == Conn::connecting || c.state == Conn::sending)
          on_writable(c, ev[size_t(i)].events);
        else if (c.stalled && c.state == Conn::body)
          on_stalled(c, ev[size_t(i)].events);
        else
          on_readable(c);
      }
    }
  }

 private:
  static constexpr size_t kBuf = 256 * 1024;

  void start(Conn& c) {
    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c.fd < 0) return fail(c, "socket");
    const int one = 1;
    setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const int rb = c.stalled ? 4096 : opt_.rcvbuf;
    if (rb > 0) setsockopt(c.fd, SOL_SOCKET, SO_RCVBUF, &rb, sizeof rb);
    if (opt_.src_ips > 1) {  // spread over 127.0.0.2.. to pass the 28k port limit
      sockaddr_in src{};
      src.sin_family = AF_INET;
      src.sin_addr.s_addr = htonl(0x7f000002u + unsigned(c.index % opt_.src_ips));
#ifdef IP_BIND_ADDRESS_NO_PORT
      setsockopt(c.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
#endif
      if (bind(c.fd, reinterpret_cast<sockaddr*>(&src), sizeof src) != 0) return fail(c, "bind");
    }
    c.out = build_request(opt_.url, opt_.headers, opt_.has_post, opt_.post, "text/event-stream",
                          std::to_string(c.index), c.last_id);
    c.sent = 0, c.carry.clear(), c.dechunk = {}, c.has_data = false;
    c.state = Conn::connecting;
    ++inflight_;
    const int rc = connect(c.fd, reinterpret_cast<const sockaddr*>(&addr_), sizeof addr_);
    if (rc != 0 && errno != EINPROGRESS) return fail(c, "connect");
    epoll_event e{};
    e.events = EPOLLOUT, e.data.ptr = &c;
    epoll_ctl(ep_, EPOLL_CTL_ADD, c.fd, &e);
  }

  void on_writable(Conn& c, uint32_t events) {
    if (events & (EPOLLERR | EPOLLHUP)) return fail(c, "connect");
    if (c.state == Conn::connecting) c.state = Conn::sending, sh_.open.fetch_add(1);
    while (c.sent < c.out.size()) {
      const ssize_t n = send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
      if (n < 0) {
        if (errno == EAGAIN) return;
        return fail(c, "send");
      }
      c.sent += size_t(n);
    }
    c.out = {};
    c.state = Conn::header;
    watch(c, EPOLLIN | EPOLLRDHUP);
  }

  void on_stalled(Conn& c, uint32_t events) {
    if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
    uint64_t zero = 0;
    sh_.first_stall_close_ns.compare_exchange_strong(zero, now_ns(Clock::mono));
    sh_.stalled_closed.fetch_add(1);
    finish(c);
  }

  void on_readable(Conn& c) {
    size_t have = 0;
    if (c.state == Conn::header && !c.carry.empty()) {
      have = c.carry.size();
      std::memcpy(buf_.data(), c.carry.data(), have);
      c.carry.clear();
    }
    const ssize_t n = recv(c.fd, buf_.data() + have, kBuf - have, 0);
    if (n < 0) {
      if (errno == EAGAIN) return;
      return lost(c);
    }
    if (n == 0) return lost(c);
    Stats& st = *stats_[size_t(sh_.step.load(std::memory_order_relaxed))];
    add(st.reads, 1), add(st.bytes, uint64_t(n));
    char* p = buf_.data();
    size_t len = have + size_t(n);
    if (c.state == Conn::header) {
      const std::string_view all(p, len);
      const auto end = all.find("\r\n\r\n");
      if (end == all.npos) {
        c.carry.assign(p, len);
        return;
      }
      std::string head(all.substr(0, end));
      if (opt_.dump_first && c.index == 0) std::fprintf(stderr, "%s\n\n", head.c_str());
      if (head.size() < 12 || head.compare(9, 3, "200") != 0) {
        if (!warned_) warned_ = true, std::fprintf(stderr, "ssebench: HTTP error: %.*s\n", 200, head.c_str());
        return fail(c, nullptr);
      }
      for (auto& ch : head) ch = char(std::tolower(static_cast<unsigned char>(ch)));
      c.dechunk.chunked = head.find("transfer-encoding: chunked") != head.npos;
      c.state = Conn::body;
      --inflight_;
      sh_.ready.fetch_add(1);
      p += end + 4, len -= end + 4;
      if (c.stalled) return watch(c, EPOLLRDHUP);
    }
    const size_t payload = c.dechunk.feed(p, len);
    if (payload > 0) parse(c, st, {p, payload});
    if (c.dechunk.chunked && c.dechunk.state == Dechunker::done) lost(c);
  }

  // Line-oriented event-stream parser (LF or CRLF line ends).
  void parse(Conn& c, Stats& st, std::string_view in) {
    if (opt_.dump_first && c.index == 0 && dumped_ < 6)
      ++dumped_, std::fprintf(stderr, "--- payload\n%.*s", int(in.size()), in.data());
    const uint64_t t = now_ns(opt_.clock);
    size_t pos = 0;
    if (!c.carry.empty()) {
      const auto nl = in.find('\n');
      if (nl == in.npos) {
        c.carry.append(in);
        return;
      }
      c.carry.append(in.substr(0, nl));
      line(c, st, c.carry, t);
      c.carry.clear();
      pos = nl + 1;
    }
    while (pos < in.size()) {
      const void* q = std::memchr(in.data() + pos, '\n', in.size() - pos);
      if (!q) {
        c.carry.assign(in.substr(pos));
        return;
      }
      const size_t nl = size_t(static_cast<const char*>(q) - in.data());
      line(c, st, in.substr(pos, nl - pos), t);
      pos = nl + 1;
    }
  }

  void line(Conn& c, Stats& st, std::string_view l, uint64_t t) {
    if (!l.empty() && l.back() == '\r') l.remove_suffix(1);
    if (l.empty()) {
      if (c.has_data) add(st.events, 1);
      c.has_data = false;
    } else if (l[0] == ':') {
      add(st.comments, 1);
    } else if (l.starts_with("data")) {
      c.has_data = true;
      uint64_t v = 0;
      if (!opt_.ts_key.empty() && find_number(l, opt_.ts_key, v)) st.latency.add(t > v ? t - v : 0);
      if (!opt_.seq_key.empty() && find_number(l, opt_.seq_key, v)) {
        if (c.have_seq && v <= c.last_seq)
          add(st.dups, 1);
        else if (c.have_seq && v > c.last_seq + 1)
          add(st.gaps, 1), add(st.lost, v - c.last_seq - 1);
        if (!c.have_seq || v > c.last_seq) c.last_seq = v;
        c.have_seq = true;
      }
    } else if (opt_.reconnect_ms >= 0 && l.starts_with("id:")) {
      l.remove_prefix(3);
      if (!l.empty() && l[0] == ' ') l.remove_prefix(1);
      c.last_id = l;
    }
  }

  void watch(Conn& c, uint32_t events) {
    epoll_event e{};
    e.events = events, e.data.ptr = &c;
    epoll_ctl(ep_, EPOLL_CTL_MOD, c.fd, &e);
  }
  void finish(Conn& c) {
    if (c.fd >= 0) close(c.fd);
    c.fd = -1, c.state = Conn::dead;
  }
  void fail(Conn& c, const char* what) {
    if (what && !warned_) warned_ = true, std::fprintf(stderr, "ssebench: %s: %s\n", what, std::strerror(errno));
    if (c.state != Conn::idle) --inflight_;
    sh_.failed.fetch_add(1);
    finish(c);
  }
  void lost(Conn& c) {
    if (c.state != Conn::body) return fail(c, "closed before the response");
    sh_.closed.fetch_add(1), sh_.ready.fetch_sub(1);
    finish(c);
    if (opt_.reconnect_ms >= 0) {
      c.state = Conn::waiting, ++waiting_;
      c.retry_at = now_ns(Clock::mono) + uint64_t(opt_.reconnect_ms) * 1'000'000u;
    }
  }
  void retry_due() {
    const uint64_t t = now_ns(Clock::mono);
    for (auto& c : conns_)
      if (c.state == Conn::waiting && c.retry_at <= t && inflight_ < opt_.inflight)
        --waiting_, sh_.reconnects.fetch_add(1), start(c);
  }

  const Options& opt_;
  Shared& sh_;
  sockaddr_in addr_;
  int ep_ = -1, inflight_ = 0, waiting_ = 0, dumped_ = 0;
  bool warned_ = false;
  std::vector<char> buf_;
  std::vector<Conn> conns_;
  std::vector<std::unique_ptr<Stats>> stats_;
};

// ---------------------------------------------------------------- publisher
// K keep-alive connections, one outstanding POST each, open-loop schedule.
class Publisher {
 public:
  Publisher(const Options& o, Shared& sh) : opt_(o), sh_(sh), addr_(resolve(o.pub_url)) {}

  void run() {
    ep_ = epoll_create1(EPOLL_CLOEXEC);
    links_.resize(size_t(opt_.pub_conns));
    for (auto& l : links_) reopen(l);
    double rate = -1;
    uint64_t next = 0, interval = 0;
    std::array<epoll_event, 64> ev;
    while (!sh_.pub_stop.load(std::memory_order_relaxed)) {
      const double want = sh_.pub_rate.load(std::memory_order_relaxed);
      if (want != rate) {
        rate = want, next = now_ns(opt_.clock);
        interval = rate > 0 ? uint64_t(1e9 / rate) : 0;
      }
      if (rate < 0) {
        usleep(1000);
        continue;
      }
      uint64_t t = now_ns(opt_.clock);
      for (auto& l : links_) {
        if (l.busy || (interval != 0 && next > t)) continue;
        publish(l, interval != 0 ? next : t);
        next += interval;
      }
      bool any_busy = false;
      for (auto& l : links_) any_busy |= l.busy;
      int timeout = any_busy ? 1 : 0;
      if (!any_busy && interval != 0 && next > t) {
        const uint64_t gap = next - t;
        if (gap > 200'000) {
          timespec ts{0, long(std::min<uint64_t>(gap - 100'000, 20'000'000))};
          nanosleep(&ts, nullptr);
        }
        continue;
      }
      const int n = epoll_wait(ep_, ev.data(), int(ev.size()), timeout);
      for (int i = 0; i < n; ++i) on_readable(links_[ev[size_t(i)].data.u32]);
    }
    for (auto& l : links_) close(l.fd);
    close(ep_);
  }

 private:
  struct Link {
    int fd = -1;
    bool busy = false;
    std::string in;
  };
  void reopen(Link& l) {
    if (l.fd >= 0) close(l.fd);
    l.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;
    setsockopt(l.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(l.fd, reinterpret_cast<sockaddr*>(&addr_), sizeof addr_) != 0) die("publisher connect failed");
    epoll_event e{};
    e.events = EPOLLIN, e.data.u32 = uint32_t(&l - links_.data());
    epoll_ctl(ep_, EPOLL_CTL_ADD, l.fd, &e);
    l.busy = false, l.in.clear();
  }
  void publish(Link& l, uint64_t ts) {
    std::string body = opt_.pub_body.empty() ? R"({"seq":{seq},"ts_ns":{ts},"pad":"{pad}"})" : opt_.pub_body;
    replace_all(body, "{seq}", std::to_string(++seq_));
    replace_all(body, "{ts}", std::to_string(ts));
    const size_t base = body.size() - (body.find("{pad}") != body.npos ? 5 : 0);
    replace_all(body, "{pad}", std::string(size_t(std::max(0, opt_.pub_size - int(base))), 'x'));
    const std::string req = build_request(opt_.pub_url, opt_.pub_headers, true, body, "*/*", "0", "");
    for (size_t off = 0; off < req.size();) {
      const ssize_t n = send(l.fd, req.data() + off, req.size() - off, MSG_NOSIGNAL);
      if (n <= 0) {
        sh_.pub_errors.fetch_add(1);
        return reopen(l);
      }
      off += size_t(n);
    }
    l.busy = true;
    sh_.published.fetch_add(1, std::memory_order_relaxed);
  }
  void on_readable(Link& l) {
    char tmp[16384];
    const ssize_t n = recv(l.fd, tmp, sizeof tmp, MSG_DONTWAIT);
    if (n <= 0) {
      if (n < 0 && errno == EAGAIN) return;
      if (l.busy) sh_.pub_errors.fetch_add(1);
      return reopen(l);
    }
    l.in.append(tmp, size_t(n));
    const auto end = l.in.find("\r\n\r\n");
    if (end == l.in.npos) return;
    std::string head = l.in.substr(0, end + 2);
    for (auto& c : head) c = char(std::tolower(static_cast<unsigned char>(c)));
    size_t need = end + 4;
    if (auto p = head.find("\r\ncontent-length:"); p != head.npos)
      need += size_t(std::strtoull(head.c_str() + p + 17, nullptr, 10));
    else if (head.find("transfer-encoding: chunked") != head.npos) {
      const auto z = l.in.find("0\r\n\r\n", end);
      if (z == l.in.npos) return;
      need = z + 5;
    }
    if (l.in.size() < need) return;
    if (head.size() > 9 && head[9] != '2') {
      if (sh_.pub_errors.fetch_add(1) == 0) std::fprintf(stderr, "ssebench: publish failed: %s\n", l.in.c_str());
    }
    l.in.erase(0, need);
    l.busy = false;
    if (head.find("\r\nconnection: close") != head.npos || head.starts_with("http/1.0") || opt_.pub_close) reopen(l);
  }
  const Options& opt_;
  Shared& sh_;
  sockaddr_in addr_;
  int ep_ = -1;
  uint64_t seq_ = 0;
  std::vector<Link> links_;
};

// --------------------------------------------------------- server monitoring
struct Usage {
  double cpu_s = 0;  // user + system of the given pids (softirq time may be accounted elsewhere)
  double rss_mb = 0, pss_mb = 0, tcp_mb = 0;
  std::vector<std::array<double, 3>> cores;  // busy, steal, total ticks per CPU
};

Usage sample(const std::vector<int>& pids) {
  Usage u;
  const double hz = double(sysconf(_SC_CLK_TCK));
  for (int pid : pids) {
    std::ifstream f("/proc/" + std::to_string(pid) + "/stat");
    std::string s((std::istreambuf_iterator<char>(f)), {});
    if (auto p = s.rfind(')'); p != s.npos) {
      std::istringstream is(s.substr(p + 2));
      std::string w;
      std::vector<std::string> v;
      while (is >> w) v.push_back(w);
      if (v.size() > 12) u.cpu_s += (std::stod(v[11]) + std::stod(v[12])) / hz;
    }
    std::ifstream m("/proc/" + std::to_string(pid) + "/smaps_rollup");
    for (std::string l; std::getline(m, l);) {
      if (l.starts_with("Rss:")) u.rss_mb += std::stod(l.substr(4)) / 1024;
      if (l.starts_with("Pss:")) u.pss_mb += std::stod(l.substr(4)) / 1024;
    }
  }
  std::ifstream st("/proc/stat");
  for (std::string l; std::getline(st, l) && l.starts_with("cpu");) {
    if (l.size() < 4 || l[3] == ' ') continue;
    std::istringstream is(l);
    std::string name;
    is >> name;
    std::array<double, 8> v{};
    double total = 0;
    for (auto& x : v) is >> x, total += x;  // user nice system idle iowait irq softirq steal
    u.cores.push_back({total - v[3] - v[4] - v[7], v[7], total});
  }
  std::ifstream sk("/proc/net/sockstat");
  for (std::string l; std::getline(sk, l);)
    if (l.starts_with("TCP:"))
      if (auto p = l.find(" mem "); p != l.npos) u.tcp_mb = std::stod(l.substr(p + 5)) * 4096 / 1048576;
  return u;
}

std::vector<double> parse_list(const std::string& s) {
  std::vector<double> v;
  std::istringstream is(s);
  for (std::string w; std::getline(is, w, ',');)
    if (!w.empty()) v.push_back(std::stod(w));
  return v;
}

void usage() {
  std::puts(
      "ssebench --url http://HOST:PORT/PATH [options]\n"
      "  -c N                 SSE connections (100)     -t N  receiver threads (1)\n"
      "  -d SEC / -w SEC      measured time per step (5) / warm-up (1)\n"
      "  -H 'K: V'            request header, repeatable; {i} = connection index\n"
      "  --post BODY|@FILE    subscribe with POST; {i} as above\n"
      "  --pub-url URL        built-in publisher (HTTP POST)\n"
      "  --pub-rates A,B,..   messages/s per step; 0 = closed loop (default 0)\n"
      "  --pub-size B         body size via {pad} (300)  --pub-conns K  (1)\n"
      "  --pub-body TEMPLATE  uses {seq} {ts} {pad}      --pub-header 'K: V'\n"
      "  --pub-close          new publisher connection per message\n"
      "  --ts-key / --seq-key payload keys (ts_ns, seq); empty disables\n"
      "  --clock mono|real    clock of the timestamps (mono)\n"
      "  --pid P[,P..]        sample CPU and memory of the server\n"
      "  --stall N            first N connections stop reading after the header\n"
      "  --reconnect MS       reconnect with Last-Event-ID after MS\n"
      "  --src-ips N          spread sources over 127.0.0.2..   --rcvbuf B\n"
      "  --inflight N         concurrent connects (128)  --cpu N  pin receivers\n"
      "  --dump               print head and first payloads of connection 0\n"
      "  --json               one JSON object per step");
}

Options parse_args(int argc, char** argv) {
  Options o;
  auto next = [&](int& i) -> std::string {
    if (i + 1 >= argc) die(std::string("missing value for ") + argv[i]);
    return argv[++i];
  };
  bool has_url = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--url")
      o.url = parse_url(next(i)), has_url = true;
    else if (a == "-c")
      o.connections = std::stoi(next(i));
    else if (a == "-t")
      o.threads = std::stoi(next(i));
    else if (a == "-d")
      o.duration = std::stod(next(i));
    else if (a == "-w")
      o.warmup = std::stod(next(i));
    else if (a == "-H")
      o.headers.push_back(next(i));
    else if (a == "--post") {
      o.has_post = true, o.post = next(i);
      if (o.post.starts_with("@")) {
        std::ifstream f(o.post.substr(1));
        o.post.assign((std::istreambuf_iterator<char>(f)), {});
      }
    } else if (a == "--pub-url")
      o.pub_url = parse_url(next(i)), o.has_pub = true;
    else if (a == "--pub-rates")
      o.rates = parse_list(next(i));
    else if (a == "--pub-size")
      o.pub_size = std::stoi(next(i));
    else if (a == "--pub-conns")
      o.pub_conns = std::stoi(next(i));
    else if (a == "--pub-body")
      o.pub_body = next(i);
    else if (a == "--pub-header")
      o.pub_headers.push_back(next(i));
    else if (a == "--pub-close")
      o.pub_close = true;
    else if (a == "--ts-key")
      o.ts_key = next(i);
    else if (a == "--seq-key")
      o.seq_key = next(i);
    else if (a == "--clock")
      o.clock = next(i) == "real" ? Clock::real : Clock::mono;
    else if (a == "--pid") {
      for (double d : parse_list(next(i))) o.pids.push_back(int(d));
    } else if (a == "--stall")
      o.stall = std::stoi(next(i));
    else if (a == "--reconnect")
      o.reconnect_ms = std::stoi(next(i));
    else if (a == "--src-ips")
      o.src_ips = std::stoi(next(i));
    else if (a == "--rcvbuf")
      o.rcvbuf = std::stoi(next(i));
    else if (a == "--inflight")
      o.inflight = std::stoi(next(i));
    else if (a == "--cpu")
      o.cpu = std::stoi(next(i));
    else if (a == "--dump")
      o.dump_first = true;
    else if (a == "--json")
      o.json = true;
    else if (a == "-h" || a == "--help")
      usage(), std::exit(0);
    else
      die("unknown option " + a);
  }
  if (!has_url) usage(), std::exit(2);
  if (o.rates.empty()) o.rates = {0};
  o.threads = std::clamp(o.threads, 1, std::max(1, o.connections));
  return o;
}

void sleep_s(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

}  // namespace

int main(int argc, char** argv) {
  const Options opt = parse_args(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  rlimit rl{};
  getrlimit(RLIMIT_NOFILE, &rl);
  rl.rlim_cur = rl.rlim_max;
  setrlimit(RLIMIT_NOFILE, &rl);
  if (opt.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(unsigned(opt.cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
  }

  Shared sh;
  const Usage before = sample(opt.pids);
  std::vector<std::unique_ptr<Receiver>> rx;
  std::vector<std::thread> threads;
  for (int t = 0, first = 0; t < opt.threads; ++t) {
    const int count = opt.connections / opt.threads + (t < opt.connections % opt.threads);
    rx.push_back(std::make_unique<Receiver>(opt, sh, first, count, opt.rates.size()));
    first += count;
  }
  const uint64_t t0 = now_ns(Clock::mono);
  for (auto& r : rx) threads.emplace_back([&r] { r->run(); });
  while (sh.ready.load() + sh.failed.load() < opt.connections && now_ns(Clock::mono) - t0 < 60'000'000'000u)
    sleep_s(0.01);
  const double connect_s = double(now_ns(Clock::mono) - t0) / 1e9;
  sleep_s(0.3);
  const Usage idle = sample(opt.pids);
  const int ready = sh.ready.load();
  const double per_conn_kb = ready ? (idle.pss_mb - before.pss_mb) * 1024 / ready : 0;
  if (!opt.json)
    std::printf(
        "connected %d/%d (failed %d) in %.2f s | server RSS %.1f -> %.1f MB, PSS %.2f KB/conn (user), tcp mem %.1f "
        "MB\n",
        ready, opt.connections, sh.failed.load(), connect_s, before.rss_mb, idle.rss_mb, per_conn_kb, idle.tcp_mb);
  if (ready == 0) {
    sh.stop = true;
    for (auto& t : threads) t.join();
    return 1;
  }

  std::unique_ptr<Publisher> pub;
  std::thread pub_thread;
  if (opt.has_pub) {
    sh.pub_rate = -1;
    pub = std::make_unique<Publisher>(opt, sh);
    pub_thread = std::thread([&] { pub->run(); });
  }
  if (!opt.json)
    std::printf("%9s %9s %11s %9s %9s %9s %9s %9s %9s %7s %8s %7s %7s %8s\n", "target/s", "pub/s", "deliv/s", "MB/s",
                "p50_us", "p90_us", "p99_us", "p99.9_us", "max_us", "ev/read", "lost", "dups", "cpu%", "rss_MB  cores");
  for (size_t s = 0; s < opt.rates.size(); ++s) {
    sh.pub_rate = opt.rates[s];
    sleep_s(opt.warmup);
    const Usage u0 = sample(opt.pids);
    const uint64_t p0 = sh.published.load(), m0 = now_ns(Clock::mono);
    sh.step = int(s) + 1;
    sleep_s(opt.duration);
    sh.step = 0;
    const double dt = double(now_ns(Clock::mono) - m0) / 1e9;
    const uint64_t p1 = sh.published.load();
    const Usage u1 = sample(opt.pids);
    sh.pub_rate = -1;
    sleep_s(0.1);
    auto all = std::make_unique<Stats>();
    for (auto& r : rx) {
      Stats& st = r->stats(s + 1);
      add(all->events, st.events), add(all->bytes, st.bytes), add(all->reads, st.reads), add(all->gaps, st.gaps);
      add(all->lost, st.lost), add(all->dups, st.dups), add(all->comments, st.comments);
      all->latency.merge(st.latency);
    }
    const double ev = double(all->events.load()), us = 1e-3;
    const auto q = [&](double x) { return double(all->latency.quantile(x)) * us; };
    const double cpu = (u1.cpu_s - u0.cpu_s) / dt * 100;
    std::string cores;
    for (size_t i = 0; i < u1.cores.size() && i < u0.cores.size() && i < 16; ++i) {
      const double tot = std::max(1.0, u1.cores[i][2] - u0.cores[i][2]);
      char b[32];
      std::snprintf(b, sizeof b, opt.json ? "%s%.0f" : "%s%.0f%%",
                    cores.empty() ? ""
                    : opt.json    ? ","
                                  : "/",
                    (u1.cores[i][0] - u0.cores[i][0]) / tot * 100);
      cores += b;
      if (const double steal = (u1.cores[i][1] - u0.cores[i][1]) / tot * 100; !opt.json && steal >= 1)
        std::snprintf(b, sizeof b, "(st%.0f)", steal), cores += b;
    }
    if (opt.json)
      std::printf(
          "{\"target_rate\":%.1f,\"published_per_s\":%.1f,\"deliveries_per_s\":%.0f,\"bytes_per_s\":%.0f,"
          "\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"events_per_read\":%.2f,"
          "\"gaps\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"dups\":%" PRIu64 ",\"comments\":%" PRIu64
          ",\"cpu_pct\":%.1f,\"rss_mb\":%.1f,\"pss_mb\":%.1f,\"tcp_mb\":%.1f,\"user_kb_per_conn\":%.2f,"
          "\"connections\":%d,\"closed\":%d,\"stalled_closed\":%d,\"reconnects\":%d,\"pub_errors\":%" PRIu64
          ",\"core_busy\":[%s]}\n",
          opt.rates[s], double(p1 - p0) / dt, ev / dt, double(all->bytes.load()) / dt, q(.5), q(.9), q(.99), q(.999),
          q(1), all->reads ? ev / double(all->reads.load()) : 0, all->gaps.load(), all->lost.load(), all->dups.load(),
          all->comments.load(), cpu, u1.rss_mb, u1.pss_mb, u1.tcp_mb, per_conn_kb, sh.ready.load(), sh.closed.load(),
          sh.stalled_closed.load(), sh.reconnects.load(), sh.pub_errors.load(), cores.c_str());
    else
      std::printf("%9.0f %9.1f %11.0f %9.1f %9.0f %9.0f %9.0f %9.0f %9.0f %7.2f %8" PRIu64 " %7" PRIu64
                  " %7.1f %8.1f  %s\n",
                  opt.rates[s], double(p1 - p0) / dt, ev / dt, double(all->bytes.load()) / dt / 1e6, q(.5), q(.9),
                  q(.99), q(.999), q(1), all->reads ? ev / double(all->reads.load()) : 0, all->lost.load(),
                  all->dups.load(), cpu, u1.rss_mb, cores.c_str());
    std::fflush(stdout);
    if (opt.has_pub && s + 1 < opt.rates.size()) sleep_s(0.7);  // let queues drain
  }
  if (!opt.json)
    std::printf("open %d closed-by-server %d stalled-closed %d/%d reconnects %d publish-errors %" PRIu64 "\n",
                sh.ready.load(), sh.closed.load(), sh.stalled_closed.load(), opt.stall, sh.reconnects.load(),
                sh.pub_errors.load());
  sh.pub_stop = true;
  if (pub_thread.joinable()) pub_thread.join();
  sh.stop = true;
  for (auto& t : threads) t.join();
  return 0;
}
