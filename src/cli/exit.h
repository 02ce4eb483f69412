// The exit codes of every command, and how an error is told to a person on stderr.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/output.h"
#include "client/rpc.h"

namespace agentd::cli {

enum Exit : int {
  kOk = 0,
  kFailure = 1,
  kUsage = 2,        // of the command line or the configuration
  kUnreachable = 3,  // no daemon there, or it did not answer in time
  kRefused = 4,      // 401, 403, or the session was revoked
  kTaskFailed = 5,   // `send`, `demo`: the task ended failed, rejected or canceled
  kInterrupted = 130,
};

[[nodiscard]] Exit exit_of(const Error& error);

// The lines for stderr: what is wrong, the violations one per line, and what to do about it. Nothing of the token.
[[nodiscard]] std::string explain(const Error& error, const client::Endpoint& endpoint);

// Writes explain() to the console's stderr and gives exit_of(); kInterrupted without a word after Ctrl-C.
[[nodiscard]] Exit report(const Error& error, const client::Endpoint& endpoint, Console console);

}  // namespace agentd::cli
