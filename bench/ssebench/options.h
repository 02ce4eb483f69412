// The command line of ssebench; options.cc has the text of --help.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ssebench/http.h"

namespace ssebench {

enum class ClockKind { kMonotonic, kWall };

struct Options {
  Url url, pub_url;
  bool has_url = false, has_pub = false, has_post = false;
  int connections = 100, threads = 1;
  double duration = 5, warmup = 1;
  std::vector<std::string> headers, pub_headers;
  std::string post, pub_body;
  std::vector<double> rates;  // one step each; 0 is a closed loop: as fast as the server lets us
  int pub_size = 300, pub_conns = 1;
  std::string ts_key = "ts_ns", seq_key = "seq";
  std::uint64_t ts_unit_ns = 1;
  ClockKind clock = ClockKind::kMonotonic;
  std::vector<int> pids;
  int stall = 0, rcvbuf = 0, src_ips = 1, inflight = 128, reconnect_ms = -1;
  int cpu = -1;
  bool json = false, dump_first = false, pub_close = false;
};

Options parse_options(int argc, char** argv);  // ends the program on --help, and on what it does not understand

[[noreturn]] void die(const std::string& what);

}  // namespace ssebench
