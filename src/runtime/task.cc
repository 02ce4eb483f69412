#include "runtime/task.h"

#include <algorithm>

#include "a2a/extensions.h"
#include "base/ids.h"
#include "base/time_text.h"

namespace agentd::runtime {
namespace {

constexpr std::ptrdiff_t kHistoryMessages = 64;
constexpr std::size_t kHistoryBytes = 256U << 10U;

Json states_json(const std::vector<StateEntry>& states) {
  Json out = Json::array();
  for (const StateEntry& entry : states)
    out.push_back({{"state", to_string(entry.state)}, {"ts", rfc3339(entry.at_ms)}});
  return out;
}

}  // namespace

Json status_json(const Task& task) {
  Json out = {{"state", to_string(task.state)}};
  if (!task.status_message.is_null()) out["message"] = task.status_message;
  out["timestamp"] = rfc3339(task.status_ms);
  return out;
}

Json task_json(const Task& task, const TaskView& view) {
  Json out = {{"id", task.id}, {"contextId", task.context}, {"status", status_json(task)}};
  if (view.artifacts) out["artifacts"] = task.artifacts;
  const std::size_t all = task.history.size();
  const std::size_t shown = view.history_length ? std::min(all, static_cast<std::size_t>(*view.history_length)) : all;
  if (shown > 0) {
    out["history"] = Json::array();
    for (std::size_t i = all - shown; i < all; ++i) out["history"].push_back(task.history[i]);
  }
  return out;
}

Json annotations_json(const Task& task) {
  Json out = {{"link", {{"kind", task.link.kind}, {"id", task.link.id}}},
              {"created", rfc3339(task.created_ms)},
              {"statusHistory", states_json(task.states)}};
  if (!task.principal.empty()) out["principal"] = task.principal;
  if (!task.command.empty()) out["command"] = task.command;
  if (const Gate* gate = task.open_gate(); gate != nullptr && !gate->schema.is_null()) out["askSchema"] = gate->schema;
  return out;
}

Json annotated(Json task, const Task& of) {
  task["metadata"][std::string(a2a::uri(a2a::Extension::kTaskAnnotations))] = annotations_json(of);
  return task;
}

Json agent_message(const Task& task, const std::string& text) {
  return {{"messageId", random_uuid()},
          {"contextId", task.context},
          {"taskId", task.id},
          {"role", "ROLE_AGENT"},
          {"parts", {{{"text", text}}}}};
}

Json result_artifact(const Task& task, Json data) {
  Json artifact = {{"artifactId", task.id + ".result"},
                   {"name", "result"},
                   {"parts", Json::array({Json{{"data", std::move(data)}, {"mediaType", "application/json"}}})}};
  if (!task.command.empty()) artifact["extensions"] = Json::array({a2a::uri(a2a::Extension::kCommand)});
  return artifact;
}

void add_to_history(Task& task, Json message) {
  task.history.push_back(std::move(message));
  // The newest stays whatever it takes.
  std::size_t bytes = 0;
  std::ptrdiff_t kept = 0;
  for (auto at = task.history.rbegin(); at != task.history.rend() && kept < kHistoryMessages; ++at, ++kept) {
    bytes += dump_json(*at).size() + 1;
    if (bytes > kHistoryBytes && kept > 0) break;
  }
  task.history.erase(task.history.begin(), task.history.end() - kept);
}

bool merge_artifact(Json& artifacts, const Json& artifact, bool append) {
  const auto same =
      std::ranges::find_if(artifacts, [&](const Json& known) { return known["artifactId"] == artifact["artifactId"]; });
  if (same == artifacts.end()) {
    if (append) return false;
    artifacts.push_back(artifact);
  } else if (!append) {
    *same = artifact;
  } else {
    for (const Json& part : artifact["parts"]) (*same)["parts"].push_back(part);
  }
  return true;
}

store::TaskRow to_row(const Task& task) {
  Json states = Json::array();
  for (const StateEntry& entry : task.states) states.push_back({to_string(entry.state), entry.at_ms});
  Json body = {{"message", task.status_message},
               {"artifacts", task.artifacts},
               {"history", task.history},
               {"link", {task.link.kind, task.link.id}},
               {"states", states},
               {"command", task.command},
               {"events", task.events}};
  if (task.gate) body["gate"] = to_json(*task.gate);
  if (!task.work.is_null()) body["work"] = task.work;
  return {.id = task.id,
          .principal = task.principal,
          .context = task.context,
          .state = std::string(to_string(task.state)),
          .created_ms = task.created_ms,
          .status_ms = task.status_ms,
          .body = dump_json(body)};
}

Result<Task> from_row(const store::TaskRow& row) {
  try {
    const Json body = Json::parse(row.body);
    Task task{.id = row.id,
              .principal = row.principal,
              .context = row.context,
              .state = a2a::task_state(row.state).value(),
              .created_ms = row.created_ms,
              .status_ms = row.status_ms,
              .status_message = body.at("message"),
              .artifacts = body.at("artifacts"),
              .history = body.at("history"),
              .link = {body.at("link").at(0), body.at("link").at(1)},
              .command = body.at("command"),
              .events = body.at("events")};
    for (const Json& entry : body.at("states")) {
      task.states.push_back({a2a::task_state(entry.at(0).get<std::string>()).value(), entry.at(1)});
    }
    if (body.contains("gate")) task.gate = gate_from_json(body["gate"]);
    task.work = body.value("work", Json());
    return task;
  } catch (const std::exception& error) {
    return fail(Code::kUnavailable, "task " + row.id + " cannot be read from the store: " + error.what());
  }
}

}  // namespace agentd::runtime
