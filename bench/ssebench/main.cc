// ssebench - load generator for feeds of Server-Sent Events (HTTP/1.1, plain TCP).
//
// Opens N subscriptions (GET, or POST with --post), drives a publisher at one or more rates if it is told to, and
// reports for each step: deliveries/s, bytes/s, latency percentiles, gaps and repeats, events for each of the server's
// writes, and the server's CPU and memory.
//
// Build: make bench (build/release/ssebench)
// Latency: the payload must contain KEY followed (within 6 bytes that are no digits) by a time stamp, e.g.
// "ts_ns":1234. With the built-in publisher at a fixed rate the stamp is the time at which it was due, so that a server
// which holds the publisher up is charged for it (no coordinated omission).
//
// Example (nchan):
//   ssebench --url 'http://127.0.0.1:8090/sub?id=a' -c 1000 -d 5
//            --pub-url 'http://127.0.0.1:8090/pub?id=a' --pub-rates 50,100,200
//            --pid 1234
// Example (JSON-RPC over POST, {i} = connection index):
//   ssebench --url http://127.0.0.1:9000/rpc -c 2000 -H 'Authorization: Bearer t{i}'
//            --post '{"jsonrpc":"2.0","id":{i},"method":"feed/subscribe"}'
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "ssebench/options.h"
#include "ssebench/publisher.h"
#include "ssebench/receiver.h"
#include "ssebench/report.h"
#include "ssebench/server_usage.h"
#include "ssebench/stats.h"

namespace ssebench {
namespace {

constexpr std::uint64_t kConnectTimeoutNs = 60'000'000'000u;

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

double seconds_since(std::uint64_t begun_ns) {
  return static_cast<double>(now_ns(ClockKind::kMonotonic) - begun_ns) / 1e9;
}

void prepare_process(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (options.cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(options.cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

class Load final {
 public:
  explicit Load(const Options& options) : options_(options), report_(options, shared_, receivers_) {}
  ~Load() {
    shared_.pub_stop = true;
    if (publisher_thread_.joinable()) publisher_thread_.join();
    shared_.stop = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  bool run() {
    if (!open()) return false;
    if (options_.has_pub) {
      shared_.pub_rate = -1;
      publisher_.emplace(options_, shared_);
      publisher_thread_ = std::thread([this] { publisher_->run(); });
    }
    report_.heading();
    for (std::size_t i = 0; i < options_.rates.size(); ++i) {
      measure(i + 1, options_.rates[i]);
      if (options_.has_pub && i + 1 < options_.rates.size()) sleep_s(0.7);  // queues drain
    }
    report_.ended();
    return true;
  }

 private:
  bool open() {
    Opened opened{.before = sample_usage(options_.pids), .idle = {}};
    for (int i = 0, first = 0; i < options_.threads; ++i) {
      const int count = options_.connections / options_.threads + (i < options_.connections % options_.threads);
      receivers_.push_back(std::make_unique<Receiver>(options_, shared_, first, count));
      first += count;
    }
    shared_.begun_ns = now_ns(ClockKind::kMonotonic);
    for (const auto& receiver : receivers_) threads_.emplace_back([&receiver] { receiver->run(); });
    while (shared_.ready + shared_.failed < options_.connections &&
           now_ns(ClockKind::kMonotonic) - shared_.begun_ns < kConnectTimeoutNs) {
      sleep_s(0.01);
    }
    opened.seconds = seconds_since(shared_.begun_ns);
    sleep_s(0.3);
    opened.idle = sample_usage(options_.pids);
    report_.opened(opened);
    return shared_.ready > 0;
  }

  void measure(std::size_t number, double rate) {
    shared_.pub_rate = rate;
    sleep_s(options_.warmup);
    Step step{.rate = rate, .before = sample_usage(options_.pids), .after = {}};
    const std::uint64_t published = shared_.published, begun = now_ns(ClockKind::kMonotonic);
    shared_.step = static_cast<int>(number);
    sleep_s(options_.duration);
    shared_.step = 0;
    step.seconds = seconds_since(begun);
    step.published = shared_.published - published;
    step.after = sample_usage(options_.pids);
    shared_.pub_rate = -1;
    sleep_s(0.1);  // the receivers see that the step is over
    report_.step(number, step);
  }

  const Options& options_;
  Shared shared_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::thread> threads_;
  std::optional<Publisher> publisher_;
  std::thread publisher_thread_;
  Report report_;
};

}  // namespace
}  // namespace ssebench

int main(int argc, char** argv) {
  const ssebench::Options options = ssebench::parse_options(argc, argv);
  ssebench::prepare_process(options);
  return ssebench::Load(options).run() ? 0 : 1;
}
