// The agentd program: the command line, with the daemon behind `serve` and `check`.
#include <fmt/format.h>

#include <string_view>

#include "cli/cli.h"
#include "config/snapshot.h"
#include "daemon/daemon.h"
#include "daemon/public_pages.h"

int main(int argc, char** argv) {
  using namespace agentd;
  // Started by the daemon, not by people.
  if (argc == 2 && std::string_view(argv[1]) == "subagent") return daemon::subagent();
  return cli::run_cli(
      argc, argv,
      {.serve =
           [](const cli::ServeOptions& options) {
             return daemon::serve(options.config, {.count = options.edges, .io_uring = !options.no_io_uring});
           },
       .check = [](const cli::CheckOptions& options) { return daemon::check(options.config, options.json); },
       .extension_schema = [](const std::string& name) { return daemon::print_extension_schema(name); },
       .config_schema =
           [] {
             fmt::print("{}\n", config::config_schema().dump(2));
             return 0;
           }});
}
