// Plan: the state of one run, and what may start next. A pure state machine: no clock of its own, no I/O.
//
// Confined to the core thread. The runtime asks ready(), starts those steps, reports each end, asks ready() again, and
// reads status(). What the store keeps is one document per step (step_to_json, step_from_json).
//
//   pending --start--> running --end--> done | failed | timeout | cancelled
//      ^                  '--end, a try is left--.
//      '-----------------------------------------'
//   pending --ready()--> skipped (`when` is false) | pruned (a need did not succeed) | failed (`when` has no value)
//
// A need is met by a step that is done or skipped, and by one that failed and has allow_failure; a step whose need came
// to any other end is pruned. Steps that do not depend on a failed one go on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workflow/model.h"

namespace agentd::workflow {

// pending running done failed skipped pruned cancelled timeout suspended (runtime.md)
enum class StepStatus : std::uint8_t {
  kPending,
  kRunning,
  kDone,
  kFailed,
  kSkipped,
  kPruned,
  kCancelled,
  kTimeout,
  kSuspended
};
[[nodiscard]] std::string_view to_string(StepStatus status);
[[nodiscard]] std::optional<StepStatus> step_status(std::string_view name);

// pending running suspended paused completed failed refused cancelled stalled; the last five are terminal
enum class RunStatus : std::uint8_t {
  kPending,
  kRunning,
  kSuspended,
  kPaused,
  kCompleted,
  kFailed,
  kRefused,
  kCancelled,
  kStalled
};
[[nodiscard]] std::string_view to_string(RunStatus status);
[[nodiscard]] std::optional<RunStatus> run_status(std::string_view name);
[[nodiscard]] bool is_terminal(RunStatus status);

struct StepState {
  StepStatus status = StepStatus::kPending;
  std::uint64_t attempt = 0;   // of the newest start
  std::uint64_t failures = 0;  // attempts that failed or timed out; one cut off by a restart did neither
  std::int64_t started_ms = 0, finished_ms = 0;  // 0 = not yet; a step that never started has no times
  Json output;
  std::string error;
};

class Plan {
 public:
  Plan(std::shared_ptr<const Workflow> workflow, std::string run_id, Json inputs);

  // Steps whose needs are met and that have not started, in the workflow's order. Steps that a false `when` skips, or
  // that a failed need prunes, are settled on the way and returned by take_settled().
  [[nodiscard]] std::vector<std::string> ready();
  // Those settled by ready() since the last call.
  [[nodiscard]] std::vector<std::string> take_settled();

  // A spec with every template filled in. Expressions see {inputs, steps, run}; `steps` are those that this one needs,
  // directly or through others. Errors: kInvalidParams with the expression and jq's reason.
  [[nodiscard]] Result<ExecSpec> exec_of(const std::string& step) const;
  struct Finish {
    Json output;
    std::vector<FinishSpec::Artifact> artifacts;
  };
  [[nodiscard]] Result<Finish> finish_of(const std::string& step) const;

  void start(const std::string& step, std::int64_t now_ms);  // attempt + 1
  // done, failed, timeout or cancelled. True when the step will be tried again (it is pending again then). The output
  // of a finish step that is done becomes the run's.
  bool end(const std::string& step, StepStatus status, Json output, std::string error, std::int64_t now_ms);
  void set_output(Json output);  // of the run
  // Pending steps are cancelled; running ones stay until their end is reported, and are not tried again.
  void cancel(std::int64_t now_ms);
  // After a restart: what was running is pending again, its attempt counted.
  void recover();

  // completed: every step settled and none failed (allow_failure aside); failed: one failed and nothing runs any more;
  // cancelled: cancel() was called and nothing runs any more.
  [[nodiscard]] RunStatus status() const;
  [[nodiscard]] const std::string& error() const;  // of the first step that failed: "authors: exit status 128: …"
  [[nodiscard]] const Json& output() const;
  [[nodiscard]] const StepState& step(const std::string& id) const;
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;  // status -> steps, without zeros
  [[nodiscard]] const Workflow& workflow() const;

  [[nodiscard]] Json step_to_json(const std::string& id) const;
  void step_from_json(const std::string& id, const Json& state);

 private:
  enum class Needs : std::uint8_t { kWaiting, kMet, kFailed };

  [[nodiscard]] std::size_t index_of(const std::string& id) const;
  [[nodiscard]] Needs needs_of(const StepSpec& spec) const;
  [[nodiscard]] Json context_of(std::size_t index) const;
  [[nodiscard]] bool is_wanted(std::size_t index);  // evaluates `when`, and settles the step when it is not
  void settle(std::size_t index, StepStatus status, std::string error);
  void note_failure(std::size_t index);

  std::shared_ptr<const Workflow> workflow_;
  std::string run_id_;
  Json inputs_;
  std::vector<StepState> states_;  // beside workflow_->steps
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> settled_;
  Json output_;
  std::string error_;
  std::int64_t error_ms_ = 0;  // when the step that error_ speaks of failed
  bool cancelled_ = false;
};

}  // namespace agentd::workflow
