// The ops that workflows declare (`start.a2a`; command.md section 3): who may run them, and how the card names them. There is no
// table of them: they are looked up among the workflows that there are now, which a reload replaces. Pure functions.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "access/caller.h"
#include "base/json.h"
#include "runtime/runs.h"
#include "workflow/model.h"

namespace agentd::command {

// The workflow that declares it, until they are replaced; null when there is none.
[[nodiscard]] const runtime::Runs::Known* find_declared(const runtime::Runs& runs, std::string_view op);

// Whether it is the caller's op. Beside it, the caller may have to be one who may run the workflow.
[[nodiscard]] bool may_run(const access::Caller& caller, const workflow::CommandStart& start);

// [{op, workflow, schema?}], for the card: those that one caller may run, in the order of the workflows.
[[nodiscard]] Json declared_json(const access::Caller& caller,
                                 const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows);

}  // namespace agentd::command
