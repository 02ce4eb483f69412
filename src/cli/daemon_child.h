// DaemonChild: a daemon that this process started, watched until it listens and stopped with it.
//
// In a process group of its own, so that Ctrl-C reaches only us; the kernel ends it when the thread that
// started it ends. Its stderr is read all the time, so it never blocks on it; the newest 4 KiB are kept to
// show if it dies. Start it before any other thread is made (it forks). Confined to that thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/stop.h"

namespace agentd::cli {

struct DaemonSpec {
  std::string program;  // a path
  std::vector<std::string> arguments;
  // On top of this process's own environment, of which the AGENTD_… variables are left out.
  std::vector<std::pair<std::string, std::string>> environment;
};

class DaemonChild final {
 public:
  // Error kInternal: no process.
  [[nodiscard]] static Result<std::unique_ptr<DaemonChild>> start(const DaemonSpec& spec);
  ~DaemonChild();  // stop()
  DaemonChild(const DaemonChild&) = delete;
  DaemonChild& operator=(const DaemonChild&) = delete;

  // Its URL, from the log line {"msg":"listening","url":…}. Once. Errors: kUnavailable (it died: with what it
  // said last), kTimeout (or stopped).
  [[nodiscard]] Result<std::string> wait_until_listening(std::int64_t deadline_ms, const client::Stop& stop);
  // SIGTERM; SIGKILL to its group after the grace; reaped when this returns. True if the SIGTERM was enough.
  // Idempotent.
  bool stop(std::int64_t grace_ms = 5'000);
  [[nodiscard]] std::string last_words();

 private:
  DaemonChild(pid_t pid, int output) : pid_(pid), output_(output) {}
  [[nodiscard]] bool read_some(const client::Stop& stop, std::int64_t deadline_ms);
  [[nodiscard]] std::string take_url();
  [[nodiscard]] bool wait_for_exit(std::int64_t ms);

  pid_t pid_;  // -1 once reaped
  int output_;
  std::string unread_;  // output in which no whole line has been looked at
  std::mutex mutex_;
  std::string tail_;  // guarded by mutex_
  client::Stop done_;
  std::thread drain_;
};

}  // namespace agentd::cli
