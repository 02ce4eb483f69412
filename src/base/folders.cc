#include "base/folders.h"

#include <fmt/format.h>

#include <cstdlib>

namespace agentd {
namespace {

std::string absolute(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string user_folder(const char* variable, std::string_view below_home) {
  if (std::string named = absolute(variable); !named.empty()) return named;
  const std::string home = absolute("HOME");
  return home.empty() ? "" : fmt::format("{}/{}", home, below_home);
}

std::string control_socket(std::string_view port) {
  std::string folder = absolute("XDG_RUNTIME_DIR");
  if (folder.empty()) folder = user_folder("XDG_STATE_HOME", ".local/state");
  return folder.empty() ? "" : fmt::format("{}/agentd/{}.sock", folder, port);
}

}  // namespace agentd
