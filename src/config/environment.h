// What the environment puts into a configuration before it is checked.
//
//   ${NAME}            the variable; a fault if it is not set
//   ${NAME:-text}      the variable, or the text if it is not set or empty
//   $${                a literal ${
//   ${{ … }}           left alone: an expression of a workflow
//
// This is done in string values, not in keys, and nowhere below `workflows`. Then AGENTD_A2A_EVENTS_RING=…
// overrides a2a.events.ring, and so on for every key that is no section, no list and no secret. Text that
// lands on an integer, a number or a boolean key is read as one.
#pragma once

#include <string>
#include <string_view>

#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {

// nullptr if it is not set.
[[nodiscard]] const std::string* find_variable(const Environment& env, std::string_view name);

// A file's own name for a variable: [A-Za-z_][A-Za-z0-9_]*.
[[nodiscard]] bool is_variable_name(std::string_view name);

// Puts in the variables that its texts refer to.
void put_in_variables(Document& document, const Environment& env, Report& report);

// Both of the above, in place; faults go to the report. An AGENTD_… variable that is no key's is a fault,
// unless it is one of the command line's (AGENTD_CONFIG, AGENTD_URL, AGENTD_CA, AGENTD_TOKEN) or one that the document refers to.
void apply_environment(Document& document, const Environment& env, Report& report);

}  // namespace agentd::config
