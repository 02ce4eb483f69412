// `agentd demo`: a daemon of its own, one workflow run, everything shown, nothing left behind.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/output.h"

namespace agentd::cli {

// `program` is the binary that serves: /proc/self/exe, but in tests. Ends the console's stop. Gives the exit
// code.
[[nodiscard]] int run_demo(const DemoOptions& options, Console console, const std::string& program);

}  // namespace agentd::cli
