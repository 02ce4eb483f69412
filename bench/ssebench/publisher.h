// Publisher: K keep-alive connections with one POST under way on each, on a schedule that does not wait for answers
// (an event's time stamp is when it was due), or, at rate 0, as fast as they are answered. run() is its thread.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ssebench/stats.h"

namespace ssebench {

class Publisher final {
 public:
  Publisher(const Options& options, Shared& shared);
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  void run();  // until Shared::pub_stop, at Shared::pub_rate

 private:
  struct Link {
    int fd = -1;
    bool busy = false;
    std::string in;
  };

  void send_due();
  void wait();
  void reopen(Link& link);
  void publish(Link& link, std::uint64_t stamp);
  void on_readable(Link& link);
  void finish(Link& link, const std::string& head);

  const Options& options_;
  Shared& shared_;
  sockaddr_in address_;
  int epoll_ = -1;
  double rate_ = -1;
  std::uint64_t next_ = 0, interval_ = 0, count_ = 0;
  std::vector<Link> links_;
};

}  // namespace ssebench
