// What `agentd status` and `agentd ps` show of the status document. Pure. Members that are missing or of another type come out
// empty; nothing reaches the terminal without having passed printable.h. Each line ends in a line feed.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "cli/render.h"

namespace agentd::cli {

[[nodiscard]] std::string render_status(const Json& status, std::int64_t now_ms, const Style& style);

// What of the document is at work, the processes with what they work for: {turns, runs, subagents, children}, where each run
// and subagent has `children` too, and `children` are the processes of none of them.
[[nodiscard]] Json work_tree(const Json& status);
[[nodiscard]] std::string render_work(const Json& tree, std::int64_t now_ms, const Style& style);

}  // namespace agentd::cli
