// The command line of agentd: run_cli() reads it and runs what it asks for. The exit codes are in exit.h.
//
// What the daemon does (serve, check, the schemas) is passed in, so that this folder needs nothing of it.
// Those run with the signals as they found them; the commands of this folder take Ctrl-C as a stop.
#pragma once

#include <functional>
#include <string>

#include "cli/options.h"

namespace agentd::cli {

struct Commands {
  std::function<int(const ServeOptions&)> serve;
  std::function<int(const CheckOptions&)> check;
  std::function<int(const std::string& name)> extension_schema;
  std::function<int()> config_schema;
};

[[nodiscard]] int run_cli(int argc, char** argv, const Commands& commands);

}  // namespace agentd::cli
