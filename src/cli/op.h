// One op of the command extension, asked and answered.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "client/rpc.h"

namespace agentd::cli {

inline constexpr client::Deadlines kOpDeadlines{.silence_ms = 30'000, .total_ms = 30'000};

// `command` is {op, …args}. Gives the document of a read, or what the artifact `<taskId>.result` of work holds. Errors: what the
// daemon answered; kInternal, with its words, when the task did not complete; kParse (no such answer).
[[nodiscard]] Result<Json> run_op(const client::Rpc& rpc, const Json& command,
                                  client::Deadlines deadlines = kOpDeadlines);

}  // namespace agentd::cli
