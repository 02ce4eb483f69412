#include "runtime/subagent_tools.h"

namespace agentd::runtime {

llm::ToolSpec subagent_run_spec() {
  static const llm::ToolSpec spec{
      .name = kSubagentRun,
      .description =
          "Starts a subagent: an agent of its own for a part of the work that can be told in a few sentences. "
          "Several at a "
          "time work side by side.",
      .schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "instruction": {"type": "string", "minLength": 1, "maxLength": 65536,
                      "description": "All that it has to know: it sees nothing of this conversation."},
      "mode": {"enum": ["sync", "detached"],
               "description": "sync (default): wait for its result. detached: go on, and ask for the result with subagent_send."},
      "tools": {"type": "array", "items": {"type": "string"}, "maxItems": 64,
                "description": "Globs of the tools that it may use; all, when left out."},
      "tokens": {"type": "integer", "minimum": 1, "description": "How many tokens it may use."}
    },
    "required": ["instruction"]
  })")};
  return spec;
}

llm::ToolSpec subagent_send_spec() {
  static const llm::ToolSpec spec{
      .name = kSubagentSend,
      .description = "Says something more to a subagent, or waits for it, and gives its answer.",
      .schema = Json::parse(R"({
    "type": "object",
    "properties": {
      "handle": {"type": "string", "description": "As subagent_run told it."},
      "message": {"type": "string", "maxLength": 65536, "description": "Left out: waits for what it is doing."}
    },
    "required": ["handle"]
  })")};
  return spec;
}

}  // namespace agentd::runtime
