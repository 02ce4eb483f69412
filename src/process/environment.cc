#include <cstdlib>

#include "process/child.h"

namespace agentd::process {

std::vector<std::pair<std::string, std::string>> base_environment() {
  std::vector<std::pair<std::string, std::string>> environment;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) environment.emplace_back(name, value);
  }
  return environment;
}

}  // namespace agentd::process
