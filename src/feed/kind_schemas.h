// The schema of each kind's `data` (events.md section 10), as the table names them. Pure functions; each call
// builds the schema anew, so keep what you use often.
#pragma once

#include "base/json.h"

namespace agentd::feed {

[[nodiscard]] Json task_schema();
[[nodiscard]] Json removed_schema();  // of every *.removed
[[nodiscard]] Json run_schema();
[[nodiscard]] Json step_schema();
[[nodiscard]] Json conversation_schema();
[[nodiscard]] Json subagent_schema();
[[nodiscard]] Json child_schema();
[[nodiscard]] Json activity_schema();
[[nodiscard]] Json status_schema();
[[nodiscard]] Json lifecycle_schema();
[[nodiscard]] Json config_schema();
[[nodiscard]] Json audit_schema();
[[nodiscard]] Json auth_schema();

}  // namespace agentd::feed
