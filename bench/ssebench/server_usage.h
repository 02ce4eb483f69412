// CPU and memory of a server, from /proc. Costs a few reads of files; the caller takes the difference of two samples.
#pragma once

#include <array>
#include <vector>

namespace ssebench {

struct ServerUsage {
  double cpu_s = 0;  // time that the threads of the processes ran; what an interrupt took may be elsewhere
  double rss_mb = 0, pss_mb = 0, tcp_mb = 0;
  std::vector<std::array<double, 3>> cores;  // ticks busy, stolen and in all, for each core of the machine
};

ServerUsage sample_usage(const std::vector<int>& pids);

}  // namespace ssebench
