// The daemon: what `agentd serve` and `agentd check` do. The composition root: daemon.cc shows what is connected to what.
#pragma once

#include <string>

namespace agentd::daemon {

// The threads that serve connections.
struct EdgeOptions {
  unsigned count = 0;    // 0: one for each core, at most 4
  bool io_uring = true;  // where the kernel allows it
};

// Runs until SIGTERM or SIGINT, which drain it; SIGHUP, like a change of its files, has it read them again. Returns the exit code: 0, 1 when it cannot serve (port, store), 2
// for faults of the configuration. Everything it has to say goes to stderr.
[[nodiscard]] int serve(const std::string& config_file, EdgeOptions edges);

// Says what is wrong with a configuration, all of it. Returns 0 or 2.
[[nodiscard]] int check(const std::string& config_file, bool json);

// What a subagent's process does (runtime/subagent_worker.h): lines from stdin to stdout, until stdin ends. Returns 0, or 2 for a line that
// is none of the protocol.
[[nodiscard]] int subagent();

// Prints the bundle of an extension to stdout. Returns 0, or 2 when there is none of that name.
[[nodiscard]] int print_extension_schema(const std::string& name);

}  // namespace agentd::daemon
