// What is printed: when all are connected, after each step and at the end; as text, or with --json one object a line.
#pragma once

#include <memory>
#include <vector>

#include "ssebench/receiver.h"
#include "ssebench/server_usage.h"

namespace ssebench {

struct Opened {
  ServerUsage before, idle;  // of the server: without our connections, and with them and nothing to send
  double seconds = 0;
};

struct Step {
  double rate = 0, seconds = 0;
  std::uint64_t published = 0;
  ServerUsage before, after;
};

class Report final {
 public:
  Report(const Options& options, const Shared& shared, const std::vector<std::unique_ptr<Receiver>>& receivers)
      : options_(options), shared_(shared), receivers_(receivers) {}

  void opened(const Opened& opened);
  void heading() const;
  void step(std::size_t number, const Step& step) const;
  void ended() const;

 private:
  void print_json(const Step& step, const Stats& stats) const;
  void print_text(const Step& step, const Stats& stats) const;

  const Options& options_;
  const Shared& shared_;
  const std::vector<std::unique_ptr<Receiver>>& receivers_;
  double kb_per_connection_ = 0;
};

}  // namespace ssebench
