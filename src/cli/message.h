// What `agentd send` sends: from its options to the params of SendMessage. Pure, apart from the message's id.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/options.h"

namespace agentd::cli {

// `text` is the words of the command line, or stdin. Errors: kConfig, for an input that is no `name=text` or
// `name:=json`, or is given twice.
[[nodiscard]] Result<Json> send_params(const SendOptions& options, const std::string& text);

// A command ({op, …args}) as a message of one part, marked with the extension. Without a context.
[[nodiscard]] Json command_message(const Json& command);
// The command that runs a workflow.
[[nodiscard]] Json workflow_message(const std::string& workflow, const Json& inputs);

}  // namespace agentd::cli
