// The mcpServers documents that `mcp.files` names: written for other programs, and read as they are.
//
// {"mcpServers": {"NAME": {"command": …, "args": …, "env": …} or {"url": …, "headers": …}}}, where ${NAME} and
// ${NAME:-text} stand for variables as in a configuration. What other programs have put there besides is passed over.
#pragma once

#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {

// Adds their servers to those of the snapshot, and what they were read from to its files.
void read_mcp_files(const Environment& env, Snapshot& snapshot, Report& report);

}  // namespace agentd::config
