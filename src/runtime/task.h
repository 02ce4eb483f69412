// Task: an A2A task as the core keeps it, and its forms: on the wire, in the annotations, in the store.
// Values; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "a2a/states.h"
#include "base/json.h"
#include "base/result.h"
#include "runtime/gate.h"
#include "store/store.h"

namespace agentd::runtime {

// What does the work of a task: a run, a subagent or a turn (task-annotations.md).
struct Link {
  std::string kind, id;
};

struct StateEntry {
  a2a::TaskState state = a2a::TaskState::kSubmitted;
  std::int64_t at_ms = 0;
};

struct Task {
  std::string id, principal, context;
  a2a::TaskState state = a2a::TaskState::kSubmitted;
  std::int64_t created_ms = 0, status_ms = 0;
  Json status_message;  // null, or the Message of the status
  Json artifacts = Json::array();
  Json history = Json::array();  // kept to 64 messages and 256 KiB
  Link link;
  std::vector<StateEntry> states;  // oldest first, the newest 64
  std::string command;             // the op that made it; "" = a message did
  std::uint64_t events = 0;        // number of the newest event of its streams
  std::optional<Gate> gate;        // the newest question that it waited with
  Json work;                       // what its turn keeps of its progress; null = nothing

  // The question that it waits with, or null.
  [[nodiscard]] const Gate* open_gate() const {
    return a2a::is_interrupted(state) && gate && gate->is_open() ? &*gate : nullptr;
  }
};

// How much of a task an answer shows.
struct TaskView {
  std::optional<std::int64_t> history_length;  // nullopt = all; 0 = no `history`
  bool artifacts = true;
};

[[nodiscard]] Json status_json(const Task& task);
[[nodiscard]] Json task_json(const Task& task, const TaskView& view = {});
[[nodiscard]] Json annotations_json(const Task& task);
// `task` with metadata[task-annotations URI].
[[nodiscard]] Json annotated(Json task, const Task& of);

// A text from the agent, within the task.
[[nodiscard]] Json agent_message(const Task& task, const std::string& text);

// What an op or a workflow made, as the artifact of its task.
[[nodiscard]] Json result_artifact(const Task& task, Json data);

// Appends and drops the oldest past the bounds.
void add_to_history(Task& task, Json message);
// Replaces the artifact of the same id, adds it, or (append) adds its parts to it. Returns false when `append` names none.
bool merge_artifact(Json& artifacts, const Json& artifact, bool append);

[[nodiscard]] store::TaskRow to_row(const Task& task);
[[nodiscard]] Result<Task> from_row(const store::TaskRow& row);

}  // namespace agentd::runtime
