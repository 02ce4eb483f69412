// The command lines that do not stand in options.cc, for its table: options_access.cc, options_instance.cc.
#pragma once

#include "cli/grammar.h"

namespace agentd::cli {

[[nodiscard]] Parsed parse_login(CommandLine line);
[[nodiscard]] Parsed parse_logout(CommandLine line);
[[nodiscard]] Parsed parse_devices(CommandLine line);
[[nodiscard]] Parsed parse_sessions(CommandLine line);

[[nodiscard]] Parsed parse_status(CommandLine line);
[[nodiscard]] Parsed parse_ps(CommandLine line);
[[nodiscard]] Parsed parse_config(CommandLine line);
[[nodiscard]] Parsed parse_pause(CommandLine line);
[[nodiscard]] Parsed parse_resume(CommandLine line);
[[nodiscard]] Parsed parse_drain(CommandLine line);
[[nodiscard]] Parsed parse_set(CommandLine line);
[[nodiscard]] Parsed parse_completion(CommandLine line);

}  // namespace agentd::cli
