// Interrupts: while it lives, SIGINT, SIGTERM and SIGHUP request a stop instead of killing the process, and
// SIGPIPE is ignored.
//
// Make it on the main thread before any other thread: the signals are blocked, threads made later inherit
// that, and a thread of its own takes them from a signalfd. The destructor gives the signals back as they
// were.
#pragma once

#include <csignal>
#include <thread>

#include "client/stop.h"

namespace agentd::cli {

class Interrupts final {
 public:
  explicit Interrupts(client::Stop& stop);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  client::Stop done_;
  sigset_t before_{};
  void (*pipe_before_)(int);
  std::thread watcher_;
};

}  // namespace agentd::cli
