// fanlimit - what one sending thread can do at all: fan-out of ready-made SSE frames over N loopback TCP sockets, with
// no HTTP, no parsing and no visibility. The floor under every feed server; the daemon's rate is quoted as a ratio to it.
//
// Build: make bench (build/release/fanlimit)
// Use:   fanlimit MODE [--conns 1000] [--msg 300] [--batch 1] [--secs 3] [--cpu 0] [--drain-cpu 1]
// Modes:
//   send       send(2) of one shared buffer per subscriber
//   writev     writev(2) of {subscriber's prefix, shared body, shared tail}: what the daemon does
//   uringmsg   the same three pieces by io_uring, 256 sends an enter
// --batch K: K events per subscriber and call (what gathering in one turn of the loop buys).
//
// A child process reads every socket as cheaply as the kernel allows. Prints one JSON object.
#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Options {
  std::string mode;
  std::size_t conns = 1000, msg = 300, batch = 1;
  double secs = 3;
  int cpu = 0, drain_cpu = 1;
};

struct Count {
  std::uint64_t events = 0, bytes = 0, calls = 0, again = 0;

  void add(ssize_t sent, std::size_t batch) {
    if (sent > 0) {
      events += batch, bytes += static_cast<std::uint64_t>(sent);
    } else {
      ++again;
    }
  }
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The child: reads and forgets, until the last socket is closed or the parent is gone.
[[noreturn]] void drain(const std::vector<int>& sockets, int cpu) {
  pin(cpu);
  const int epoll = epoll_create1(0);
  for (const int socket : sockets) {
    epoll_event event{};
    event.events = EPOLLIN, event.data.fd = socket;
    epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  }
  std::vector<epoll_event> events(2048);
  std::vector<char> buffer(1 << 20);
  while (getppid() != 1) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 1000);
    for (int i = 0; i < ready; ++i) {
      if (recv(events[i].data.fd, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC) == 0) _exit(0);
    }
  }
  _exit(0);
}

// Connected pairs: what we send on, and what the child reads.
void connect_all(std::size_t count, std::vector<int>& senders, std::vector<int>& readers) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (bind(listener, any, sizeof address) != 0 || listen(listener, 4096) != 0) fail("listen");
  getsockname(listener, any, &length);
  for (std::size_t i = 0; i < count; ++i) {
    readers.push_back(socket(AF_INET, SOCK_STREAM, 0));
    if (connect(readers.back(), any, sizeof address) != 0) fail("connect");
    senders.push_back(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
    const int one = 1;
    setsockopt(senders.back(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  close(listener);
}

// The pieces of one event of about `msg` bytes: the subscriber's own prefix, and what all share.
struct Frames {
  std::vector<std::string> prefixes;
  std::string body, tail = "}}\n\n", whole;

  explicit Frames(const Options& options) {
    const std::string head = R"(data: {"jsonrpc":"2.0","id":)";
    body = R"(,"result":{"event":{"seq":123456,"kind":"task","pad":")";
    const std::size_t fixed = head.size() + 6 + body.size() + 1 + tail.size();
    body += std::string(options.msg > fixed ? options.msg - fixed : 0, 'x') + '"';
    for (std::size_t i = 0; i < options.conns; ++i) prefixes.push_back(head + std::to_string(100000 + i));
    for (std::size_t k = 0; k < options.batch; ++k) whole += prefixes[0] + body + tail;
  }

  void gather(std::size_t subscriber, std::size_t batch, iovec* pieces) {
    for (std::size_t k = 0; k < batch; ++k) {
      *pieces++ = {prefixes[subscriber].data(), prefixes[subscriber].size()};
      *pieces++ = {body.data(), body.size()};
      *pieces++ = {tail.data(), tail.size()};
    }
  }
};

void round_of_calls(const Options& options, Frames& frames, const std::vector<int>& senders, Count& count) {
  std::vector<iovec> pieces(options.batch * 3);
  const bool gathered = options.mode == "writev";
  for (std::size_t i = 0; i < senders.size(); ++i) {
    if (gathered) frames.gather(i, options.batch, pieces.data());
    const ssize_t sent = gathered ? writev(senders[i], pieces.data(), static_cast<int>(pieces.size()))
                                  : send(senders[i], frames.whole.data(), frames.whole.size(), MSG_NOSIGNAL);
    ++count.calls;
    count.add(sent, options.batch);
  }
}

class Uring {
 public:
  Uring(const std::vector<int>& senders, std::size_t batch) : pieces_(kEntries * batch * 3), messages_(kEntries) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (const int error = io_uring_queue_init_params(kEntries, &ring_, &params); error < 0) {
      errno = -error;
      fail("io_uring_queue_init");
    }
    if (const int error = io_uring_register_files(&ring_, senders.data(), static_cast<unsigned>(senders.size()));
        error < 0) {
      errno = -error;
      fail("io_uring_register_files");
    }
  }

  void round(const Options& options, Frames& frames, std::size_t conns, Count& count) {
    for (std::size_t first = 0; first < conns; first += kEntries) {
      const std::size_t many = std::min<std::size_t>(kEntries, conns - first);
      for (std::size_t slot = 0; slot < many; ++slot) {
        iovec* pieces = &pieces_[slot * options.batch * 3];
        frames.gather(first + slot, options.batch, pieces);
        messages_[slot] = {};
        messages_[slot].msg_iov = pieces, messages_[slot].msg_iovlen = options.batch * 3;
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        io_uring_prep_sendmsg(entry, static_cast<int>(first + slot), &messages_[slot], MSG_DONTWAIT | MSG_NOSIGNAL);
        entry->flags |= IOSQE_FIXED_FILE;
      }
      io_uring_submit_and_wait(&ring_, static_cast<unsigned>(many));
      ++count.calls;
      for (std::size_t done = 0; done < many; ++done) {
        io_uring_cqe* end = nullptr;
        if (io_uring_wait_cqe(&ring_, &end) != 0) fail("io_uring_wait_cqe");
        count.add(end->res, options.batch);
        io_uring_cqe_seen(&ring_, end);
      }
    }
  }

 private:
  static constexpr unsigned kEntries = 256;
  io_uring ring_{};
  std::vector<iovec> pieces_;
  std::vector<msghdr> messages_;
};

Options parse(int argc, char** argv) {
  Options options;
  if (argc > 1) options.mode = argv[1];
  if (options.mode != "send" && options.mode != "writev" && options.mode != "uringmsg") {
    std::fputs("fanlimit send|writev|uringmsg [--conns N] [--msg B] [--batch K] [--secs S] [--cpu C] [--drain-cpu C]\n",
               stderr);
    std::exit(2);
  }
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const double value = std::atof(argv[i + 1]);
    if (name == "--conns") options.conns = static_cast<std::size_t>(value);
    if (name == "--msg") options.msg = static_cast<std::size_t>(value);
    if (name == "--batch") options.batch = static_cast<std::size_t>(value);
    if (name == "--secs") options.secs = value;
    if (name == "--cpu") options.cpu = static_cast<int>(value);
    if (name == "--drain-cpu") options.drain_cpu = static_cast<int>(value);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  std::vector<int> senders, readers;
  connect_all(options.conns, senders, readers);
  const pid_t child = fork();
  if (child == 0) {
    for (const int socket : senders) close(socket);
    drain(readers, options.drain_cpu);
  }
  for (const int socket : readers) close(socket);
  pin(options.cpu);

  Frames frames(options);
  Count count;
  const double begun = seconds(CLOCK_MONOTONIC), cpu_begun = seconds(CLOCK_THREAD_CPUTIME_ID);
  if (options.mode == "uringmsg") {
    Uring ring(senders, options.batch);
    while (seconds(CLOCK_MONOTONIC) - begun < options.secs) ring.round(options, frames, senders.size(), count);
  } else {
    while (seconds(CLOCK_MONOTONIC) - begun < options.secs) round_of_calls(options, frames, senders, count);
  }
  const double wall = seconds(CLOCK_MONOTONIC) - begun, cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_begun;
  const double events = static_cast<double>(std::max<std::uint64_t>(1, count.events));
  std::printf(
      "{\"mode\":\"%s\",\"conns\":%zu,\"msg\":%zu,\"batch\":%zu,\"deliveries_per_s\":%.0f,\"cpu_us_per_delivery\":%.3f,"
      "\"mb_per_s\":%.1f,\"calls_per_s\":%.0f,\"refused_share\":%.4f}\n",
      options.mode.c_str(), options.conns, frames.whole.size() / options.batch, options.batch, events / wall,
      cpu / events * 1e6, static_cast<double>(count.bytes) / wall / 1e6, static_cast<double>(count.calls) / wall,
      static_cast<double>(count.again) /
          (events / static_cast<double>(options.batch) + static_cast<double>(count.again)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}
