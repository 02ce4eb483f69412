// The schema of each op's result (command.md section 3): of the document that a read answers with, of the data of the
// artifact that work leaves. Closed, but for the document of `status`, which may grow. The table of ops names them.
// Pure functions; each call builds the schema anew.
#pragma once

#include "base/json.h"

namespace agentd::command::result {

[[nodiscard]] Json anything();  // what a workflow puts out
[[nodiscard]] Json nothing();   // the op leaves no artifact

[[nodiscard]] Json status();
[[nodiscard]] Json config();
[[nodiscard]] Json workflow_status();
[[nodiscard]] Json workflow_signal();
[[nodiscard]] Json subagent_told();  // of subagent.send and subagent.kill
[[nodiscard]] Json subagent_status();
[[nodiscard]] Json plan_get();
[[nodiscard]] Json conversation_get();
[[nodiscard]] Json run_get();
[[nodiscard]] Json subagent_get();
[[nodiscard]] Json debug_events();
[[nodiscard]] Json admin_drain();
[[nodiscard]] Json admin_pause();
[[nodiscard]] Json admin_resume();
[[nodiscard]] Json admin_cancel();
[[nodiscard]] Json admin_set();
[[nodiscard]] Json device_pending();
[[nodiscard]] Json device_approve();
[[nodiscard]] Json device_deny();
[[nodiscard]] Json sessions();
[[nodiscard]] Json sessions_revoke();

}  // namespace agentd::command::result
