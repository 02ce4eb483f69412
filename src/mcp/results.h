// What a server says, checked and bounded: its list of tools, and the result of a call as a model reads it. Pure.
#pragma once

#include <vector>

#include "base/json.h"
#include "base/redact.h"
#include "config/agent.h"
#include "mcp/server.h"

namespace agentd::mcp {

// Appends the tools of one page of tools/list. One without a name, with that of another or whose schema is no object is passed over.
// False when there are more than 1,000 in all; those past it are left out.
[[nodiscard]] bool read_tools(const Json& page, std::vector<Tool>& out);

// Of tools/call: at most 256 KiB of text, cut as base/json.h cuts, and 8 MiB in all, past which it is an error.
[[nodiscard]] ToolResult read_result(const Json& result);

// Takes the values of its variables and headers out of what it logs and complains of, for any may be a secret. Not out of results:
// it may as well be the name of a folder, which a tool's results are full of.
[[nodiscard]] Redactor redactor_of(const config::McpServer& config);

}  // namespace agentd::mcp
