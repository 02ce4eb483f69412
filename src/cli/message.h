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

// The command part that runs a workflow, with the message around it.
[[nodiscard]] Json workflow_message(const std::string& workflow, const Json& inputs);

}  // namespace agentd::cli
