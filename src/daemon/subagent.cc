#include <cstdio>
#include <iostream>
#include <string>

#include "daemon/daemon.h"
#include "runtime/subagent_worker.h"

namespace agentd::daemon {

int subagent() {
  runtime::SubagentWorker worker;
  std::string text;
  while (std::getline(std::cin, text)) {
    const auto line = parse_json(text, {.bytes = 16U << 20U});
    const auto said = line ? worker.take(*line) : std::unexpected(line.error());
    if (!said) {
      std::cerr << "agentd subagent: " << said.error().message
                << "; this is a part of the daemon, which starts it itself\n";
      return 2;
    }
    for (const Json& answer : *said) std::cout << dump_json(answer) << '\n' << std::flush;
  }
  return 0;
}

}  // namespace agentd::daemon
