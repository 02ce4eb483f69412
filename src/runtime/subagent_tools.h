// The tools by which a model has subagents, as it is told them (runtime/subagents.h does what they say). Immutable.
#pragma once

#include "llm/model.h"

namespace agentd::runtime {

inline constexpr char kSubagentRun[] = "subagent_run";
inline constexpr char kSubagentSend[] = "subagent_send";

[[nodiscard]] llm::ToolSpec subagent_run_spec();
[[nodiscard]] llm::ToolSpec subagent_send_spec();

}  // namespace agentd::runtime
