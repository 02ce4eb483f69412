#include "ssebench/server_usage.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace ssebench {
namespace {

void add_process(int pid, ServerUsage& usage) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(folder + "/task", gone)) {
    std::ifstream schedstat(task.path() / "schedstat");
    double ran_ns = 0;
    if (schedstat >> ran_ns) usage.cpu_s += ran_ns / 1e9;
  }
  std::ifstream rollup(folder + "/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Rss:")) usage.rss_mb += std::stod(line.substr(4)) / 1024;
    if (line.starts_with("Pss:")) usage.pss_mb += std::stod(line.substr(4)) / 1024;
  }
}

void add_cores(ServerUsage& usage) {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    if (line.size() < 4 || line[3] == ' ') continue;  // the sum of all
    std::istringstream in(line);
    std::string name;
    in >> name;
    std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
    double total = 0;
    for (double& each : ticks) {
      in >> each;
      total += each;
    }
    usage.cores.push_back({total - ticks[3] - ticks[4] - ticks[7], ticks[7], total});
  }
}

void add_tcp(ServerUsage& usage) {
  std::ifstream sockstat("/proc/net/sockstat");
  for (std::string line; std::getline(sockstat, line);) {
    const std::size_t pages = line.find(" mem ");
    if (line.starts_with("TCP:") && pages != line.npos)
      usage.tcp_mb = std::stod(line.substr(pages + 5)) * 4096 / 1048576;
  }
}

}  // namespace

ServerUsage sample_usage(const std::vector<int>& pids) {
  ServerUsage usage;
  for (const int pid : pids) add_process(pid, usage);
  add_cores(usage);
  add_tcp(usage);
  return usage;
}

}  // namespace ssebench
