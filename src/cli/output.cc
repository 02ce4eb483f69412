#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace agentd::cli {

void Output::text(std::string_view bytes) {
  while (!bytes.empty() && !broken_) {
    const auto written = ::write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
}

void Output::line(std::string_view line) { text(std::string(line) + "\n"); }

bool Output::is_terminal() const { return ::isatty(fd_) == 1; }

Style Output::style() const {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted =
      (no_colour == nullptr || *no_colour == '\0') && (term == nullptr || std::string_view(term) != "dumb");
  return {.colour = wanted && is_terminal(), .utc = false};
}

}  // namespace agentd::cli
