// The documents that reading ops answer with (command.md section 3), for one viewer. Core-confined. What is not there and what is
// somebody else's is one error, kTaskNotFound.
#pragma once

#include <functional>

#include "base/json.h"
#include "base/result.h"
#include "feed/visibility.h"
#include "runtime/conversations.h"
#include "runtime/journal.h"
#include "runtime/runs.h"
#include "runtime/subagents.h"
#include "runtime/turns.h"

namespace agentd::command {

// workflow.status, run.get.
[[nodiscard]] Result<Json> workflow_status(const runtime::Runs& runs, const feed::Viewer& viewer, const Json& args);
[[nodiscard]] Result<Json> subagent_status(const runtime::Subagents& subagents, const feed::Viewer& viewer,
                                           const Json& args);
[[nodiscard]] Result<Json> subagent_document(const runtime::Subagents& subagents, const feed::Viewer& viewer,
                                             const Json& args);
[[nodiscard]] Result<Json> run_document(const runtime::Runs& runs, const feed::Viewer& viewer, const Json& args);

// conversation.get. The messages are read on the store's thread; `reply` is called on the core's.
void read_conversation(runtime::Journal& journal, const runtime::Conversations& conversations,
                       const runtime::Turns& turns, const feed::Viewer& viewer, const Json& args,
                       std::move_only_function<void(Result<Json>)> reply);

// debug.events.
[[nodiscard]] Json log_document(const Json& args);

}  // namespace agentd::command
