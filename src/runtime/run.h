// Run: one run of a workflow as the core keeps it while it works, and its forms on the feed and in the store.
// Values; the functions are pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "feed/payloads.h"
#include "process/child.h"
#include "store/store.h"
#include "workflow/plan.h"

namespace agentd::runtime {

struct RunFacts {
  std::string id, workflow, hash, start, principal, task;
  Json inputs;
  std::int64_t created_ms = 0, updated_ms = 0;
  std::optional<std::int64_t> finished_ms;
  workflow::RunStatus status = workflow::RunStatus::kPending;
  Json output;
  std::string error;
  std::map<std::string, std::uint64_t> steps;  // status -> count
  bool cancelled = false;                      // asked for, and durable before it has come about
  bool paused = false;                         // no step of it starts
  mutable std::string shown = {};              // as the feed tells it; of one that has ended, when it was listed
};

struct Run {
  RunFacts facts;
  std::optional<workflow::Plan> plan;                // none: the workflow is gone or has changed
  std::map<std::string, process::ChildId> children;  // step -> the process that does it
  std::set<std::string> settling;                    // steps that ended, until that is durable
  std::set<std::string> dirty;                       // steps to write
  bool told = false;                                 // by this life
};

[[nodiscard]] feed::Run payload(const RunFacts& facts);
[[nodiscard]] store::RunRow to_row(const RunFacts& facts);
[[nodiscard]] Result<RunFacts> facts_from_row(const store::RunRow& row);

// What a child's end means for its step.
struct StepEnd {
  workflow::StepStatus status = workflow::StepStatus::kDone;
  Json output;
  std::string error;
};
[[nodiscard]] StepEnd step_end(const process::ChildResult& result, bool json_output);

}  // namespace agentd::runtime
