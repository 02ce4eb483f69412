// Children: the daemon's child processes, each in a session and process group of its own, watched, bounded,
// and dead when the daemon is.
//
//   daemon ── nursery ─┬─ supervisor ── command ── whatever it starts
//                      └─ supervisor ── command …
//
// The nursery is forked once, by the constructor: make Children early, while the daemon is small, for the
// nursery is a copy of it. It forks a supervisor per child, which adopts every orphan below it and ends with
// all of them dead. Confined to its loop's thread; spawn() blocks it for the start of a process, about 1 ms.
// No descendant of a child, not even one that left the group or the session, outlives the child's end or the
// daemon's (kill -9 included) by 2 s. Output past the cap is dropped and counted, the child goes on. Kill
// ladder on cancel and time-out: SIGTERM to the group, SIGKILL to all after 1 s, everything reaped before
// `done` is called. Needs Linux 5.9 and a mounted /proc. With limits, each child is bound with all below it (process/cgroups.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/loop.h"
#include "process/cgroups.h"

namespace agentd::process {

struct ChildSpec {
  std::vector<std::string> argv;                         // argv[0] is looked up in the PATH of `env`
  std::vector<std::pair<std::string, std::string>> env;  // the whole environment, nothing is inherited
  std::string cwd = {};                                  // "" = where the daemon was when it made Children
  std::string input = {};                                // given on stdin, then closed
  std::size_t output_cap = 1U << 20U;                    // bytes kept of stdout, the first; of stderr the last 64 KiB
  std::int64_t timeout_ms = 0;                           // 0 = none
  // One that is talked to: with `on_line`, its stdin stays open for write(), and its output is not kept but handed over line by line,
  // without the line's end, empty lines left out; one of more than 16 MiB is passed over. Called on the loop, never after `done`.
  std::function<void(std::string_view line)> on_line = nullptr;      // of stdout
  std::function<void(std::string_view line)> on_err_line = nullptr;  // of stderr; null: its end is kept, as of others
};

struct ChildResult {
  enum class End : std::uint8_t { kExited, kSignalled, kTimedOut, kCancelled, kFailedToStart };
  End end = End::kExited;
  int code = 0;                                    // exit status, or signal number
  std::string out, err;                            // any bytes
  std::uint64_t out_dropped = 0, err_dropped = 0;  // bytes
  std::string reason;  // for a person: "exit status 2", "sh: not found", "timed out after 30 s"
};

using ChildId = std::uint64_t;  // never used twice in one life; the feed's `node`

class Children final {
 public:
  // SIGPIPE is ignored in the whole process from here on. Limits that cannot be had here are said to be by a warning in the log, and there
  // are none then.
  explicit Children(net::Loop& loop, const ChildLimits& limits = {});
  ~Children();  // kills and reaps what is left, at most 3 s; no `done` is called
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  struct Started {
    ChildId id;
    int pid;  // of the command, its group and its session; 0 when the spec made no process
  };
  // `done` is called exactly once, later, on the loop. A program that cannot be started is reported there
  // too; the error here is for being out of processes or descriptors (kUnavailable).
  [[nodiscard]] Result<Started> spawn(ChildSpec spec, std::function<void(ChildResult)> done);
  // Says something to a child that is talked to. False when it does not read: it has closed its stdin, is over, or 8 MiB wait for
  // it, and this is not said.
  [[nodiscard]] bool write(ChildId id, std::string_view bytes);
  // It has been told everything: its stdin ends when that is read.
  void close_input(ChildId id);
  void cancel(ChildId id);  // nothing for one that is over, or cancelled already
  [[nodiscard]] std::size_t running() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// PATH, HOME, USER, LANG, LC_ALL, TZ and TMPDIR of the daemon: all that a child inherits. Secrets never are
// among them.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> base_environment();

}  // namespace agentd::process
