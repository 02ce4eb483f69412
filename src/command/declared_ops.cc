#include "command/declared_ops.h"

namespace agentd::command {

const runtime::Runs::Known* find_declared(const runtime::Runs& runs, std::string_view op) {
  for (const auto& [name, known] : runs.workflows()) {
    if (known.workflow->command && known.workflow->command->op == op) return &known;
  }
  return nullptr;
}

bool may_run(const access::Caller& caller, const workflow::CommandStart& start) {
  if (caller.viewer.is_operator) return true;
  // What is for operators alone is nobody else's, whatever is granted: as with the ops of the table.
  if (!start.users && !start.agents) return false;
  const bool by_role = caller.role == config::Role::kUser ? start.users : start.agents;
  return by_role || access::is_granted(caller, start.op);
}

Json declared_json(const access::Caller& caller,
                   const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows) {
  Json out = Json::array();
  for (const auto& workflow : workflows) {
    if (!workflow->command || !may_run(caller, *workflow->command)) continue;
    if (!access::may_run_workflow(caller, workflow->name)) continue;
    Json row = {{"op", workflow->command->op}, {"workflow", workflow->name}};
    const Json& schema = workflow->command->schema.is_null() ? workflow->inputs : workflow->command->schema;
    if (!schema.is_null()) row["schema"] = schema;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace agentd::command
