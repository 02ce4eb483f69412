// What runs in the nursery and in the supervisors: copies of the daemon that never return to its code.
//
// Both were forked from a process that may have had threads: only async-signal-safe calls, no allocation, no
// log, no exceptions. Both block every signal and live in the nursery's session, out of reach of a
// terminal's; only SIGKILL ends them early, and then the one above kills what they leave behind.
#pragma once

#include "process/protocol.h"

namespace agentd::process {

// Forks a supervisor for each launch that comes over `socket`, until that ends.
[[noreturn]] void run_nursery(int socket);

// Starts the command, waits for its end, an order or the daemon's death, and leaves only when all below it
// are dead.
[[noreturn]] void supervise(const LaunchFds& fds);

// A descriptor that reads SIGCHLD, which must be blocked.
[[nodiscard]] int watch_children();

// SIGKILL to each child of this process that `chosen` takes. Its children come to us when it dies, for the
// next round.
void kill_children(bool (*chosen)(pid_t));

}  // namespace agentd::process
