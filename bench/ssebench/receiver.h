// Receiver: one thread's share of the subscriptions. It opens them, reads them, and counts what comes. run() is its
// thread; the Stats may be read by the main thread meanwhile, and first_data() when run() has ended or is quiet.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ssebench/http.h"
#include "ssebench/stats.h"

namespace ssebench {

class Receiver final {
 public:
  Receiver(const Options& options, Shared& shared, int first, int count);  // connections first to first + count - 1
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  void run();  // until Shared::stop
  const Stats& stats(std::size_t step) const { return *stats_[step]; }
  const Histogram& first_data() const { return first_data_; }  // ns since Shared::begun_ns, one for each connection

 private:
  struct Connection {
    enum class State { kIdle, kConnecting, kSending, kHeader, kBody, kWaiting, kDead };
    int fd = -1, index = 0;
    State state = State::kIdle;
    bool stalled = false, has_data = false, has_seq = false, greeted = false;
    std::uint64_t last_seq = 0, retry_at = 0;
    std::size_t sent = 0;
    std::string out, carry, last_id;
    Dechunker dechunk;
  };

  void start(Connection& c);
  void note_step();
  std::uint64_t segments_received() const;
  void on_event(Connection& c, std::uint32_t events);
  void on_writable(Connection& c, std::uint32_t events);
  void on_stalled(Connection& c, std::uint32_t events);
  void on_readable(Connection& c);
  bool read_header(Connection& c, char*& bytes, std::size_t& count);
  void parse(Connection& c, Stats& stats, std::string_view payload);
  void parse_line(Connection& c, Stats& stats, std::string_view line, std::uint64_t now);
  void count_data(Connection& c, Stats& stats, std::string_view line, std::uint64_t now);
  void watch(Connection& c, std::uint32_t events);
  void close_for_good(Connection& c);
  void fail(Connection& c, const char* what);
  void lose(Connection& c);
  void retry_due();

  const Options& options_;
  Shared& shared_;
  sockaddr_in address_;
  int epoll_ = -1, connecting_ = 0, waiting_ = 0, dumped_ = 0;
  int seen_step_ = 0;
  std::uint64_t segments_before_ = 0;
  bool warned_ = false;
  std::vector<char> buffer_;
  std::vector<Connection> connections_;
  std::vector<std::unique_ptr<Stats>> stats_;
  Histogram first_data_;
};

}  // namespace ssebench
