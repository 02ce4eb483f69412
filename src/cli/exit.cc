#include "cli/exit.h"

#include <fmt/format.h>

#include "cli/printable.h"

namespace agentd::cli {

Exit exit_of(const Error& error) {
  switch (error.code) {
    case Code::kUnavailable:
    case Code::kTimeout: return kUnreachable;
    case Code::kUnauthenticated:
    case Code::kPermissionDenied: return kRefused;
    case Code::kConfig: return kUsage;
    default: return kFailure;
  }
}

std::string explain(const Error& error, const client::Endpoint& endpoint) {
  const std::string url = one_line(endpoint.url);
  std::string text;
  switch (error.code) {
    case Code::kUnavailable:
      text = fmt::format(
          "agentd: cannot reach the daemon: {}\n"
          "  start one with 'agentd serve', or name another with --url URL or AGENTD_URL\n",
          one_line(error.message));
      break;
    case Code::kTimeout: text = fmt::format("agentd: the daemon does not answer: {}\n", one_line(error.message)); break;
    case Code::kUnauthenticated:
      text = endpoint.stored ? fmt::format("agentd: signed out: run agentd login --url {}\n", url)
                             : fmt::format(
                                   "agentd: {} does not know you: {}\n"
                                   "  run 'agentd login', or set AGENTD_TOKEN to a token that it accepts\n",
                                   url, one_line(error.message));
      break;
    case Code::kPermissionDenied:
      text = fmt::format("agentd: {} does not allow it: {}\n", url, one_line(error.message));
      break;
    default: text = fmt::format("agentd: {}\n", one_line(error.message)); break;
  }
  // One fault that the message tells of already is not told twice, nor by its place in a request that nobody has written.
  const bool told = error.violations.size() == 1 && error.message.contains(error.violations.front().description);
  for (const auto& miss : told ? std::vector<FieldViolation>{} : error.violations) {
    text += fmt::format("  {}: {}\n", one_line(miss.field), one_line(miss.description));
  }
  return text;
}

Exit report(const Error& error, const client::Endpoint& endpoint, Console console) {
  if (console.stop.requested()) return kInterrupted;
  console.err.text(explain(error, endpoint));
  return exit_of(error);
}

}  // namespace agentd::cli
