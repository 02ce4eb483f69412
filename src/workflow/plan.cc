#include "workflow/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "workflow/expressions.h"

namespace agentd::workflow {
namespace {

constexpr std::size_t kErrorBytes = 4096;

bool is_failure(StepStatus status) { return status == StepStatus::kFailed || status == StepStatus::kTimeout; }
bool is_live(StepStatus status) {
  return status == StepStatus::kPending || status == StepStatus::kRunning || status == StepStatus::kSuspended;
}

// Fills in every string of `value`. The first expression that fails ends it.
Status fill(Json& value, const Expressions& expressions, const JqValue& context) {
  if (value.is_string()) {
    auto filled = expressions.value_of(value.get<std::string>(), context);
    if (!filled) return std::unexpected(std::move(filled.error()));
    value = std::move(*filled);
  } else if (value.is_structured()) {
    for (Json& inner : value) {
      if (auto filled = fill(inner, expressions, context); !filled) return filled;
    }
  }
  return {};
}

// A string that the kernel can take: it would be cut, silently, at a NUL.
Status fill_argument(std::string& text, const Expressions& expressions, const JqValue& context) {
  auto filled = expressions.text_of(text, context);
  if (!filled) return std::unexpected(std::move(filled.error()));
  if (filled->find('\0') != std::string::npos) {
    return fail(Code::kInvalidParams, fmt::format("`{}`: the value holds a NUL character", cut_text(text, 200)));
  }
  text = std::move(*filled);
  return {};
}

}  // namespace

Plan::Plan(std::shared_ptr<const Workflow> workflow, std::string run_id, Json inputs)
    : workflow_(std::move(workflow)),
      run_id_(std::move(run_id)),
      inputs_(inputs.is_null() ? Json::object() : std::move(inputs)),
      states_(workflow_->steps.size()) {
  for (std::size_t i = 0; i < states_.size(); ++i) index_[workflow_->steps[i].id] = i;
}

std::size_t Plan::index_of(const std::string& id) const {
  const auto found = index_.find(id);
  AGENTD_CHECK(found != index_.end(), "a step that the workflow does not have");
  return found->second;
}

Plan::Needs Plan::needs_of(const StepSpec& spec) const {
  bool waiting = false;
  for (const std::string& id : spec.needs) {
    const std::size_t need = index_of(id);
    const StepStatus status = states_[need].status;
    const bool met = status == StepStatus::kDone || status == StepStatus::kSkipped ||
                     (is_failure(status) && workflow_->steps[need].allow_failure);
    if (is_live(status)) {
      waiting = true;
    } else if (!met) {
      return Needs::kFailed;
    }
  }
  return waiting ? Needs::kWaiting : Needs::kMet;
}

std::vector<std::string> Plan::ready() {
  std::vector<std::string> out;
  // One pass is enough: in the workflow's order a step comes after all that it needs.
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].status != StepStatus::kPending) continue;
    const Needs needs = needs_of(workflow_->steps[i]);
    if (needs == Needs::kFailed) settle(i, StepStatus::kPruned, "");
    if (needs == Needs::kMet && is_wanted(i)) out.push_back(workflow_->steps[i].id);
  }
  return out;
}

bool Plan::is_wanted(std::size_t index) {
  const std::string& when = workflow_->steps[index].when;
  // A step that has started was wanted, and what `when` sees has not changed since.
  if (when.empty() || states_[index].attempt > 0) return true;
  const auto value = workflow_->expressions->evaluate(when, JqValue(context_of(index)));
  if (!value) {
    settle(index, StepStatus::kFailed, "when: " + value.error().message);
    return false;
  }
  const bool wanted = !value->is_null() && *value != false;
  if (!wanted) settle(index, StepStatus::kSkipped, "");
  return wanted;
}

void Plan::settle(std::size_t index, StepStatus status, std::string error) {
  states_[index].status = status;
  states_[index].error = std::move(error);
  settled_.push_back(workflow_->steps[index].id);
  if (is_failure(status)) note_failure(index);
}

std::vector<std::string> Plan::take_settled() { return std::exchange(settled_, {}); }

Json Plan::context_of(std::size_t index) const {
  std::vector<bool> needed(states_.size());
  const auto mark = [&](std::size_t at) {
    for (const std::string& need : workflow_->steps[at].needs) needed[index_of(need)] = true;
  };
  mark(index);
  for (std::size_t i = index; i-- > 0;) {
    if (needed[i]) mark(i);
  }
  Json steps = Json::object();
  for (std::size_t i = 0; i < index; ++i) {
    if (!needed[i]) continue;
    const StepState& state = states_[i];
    steps[workflow_->steps[i].id] = {{"status", to_string(state.status)},
                                     {"output", state.output},
                                     {"error", state.error.empty() ? Json() : Json(state.error)}};
  }
  return {{"inputs", inputs_}, {"steps", std::move(steps)}, {"run", {{"id", run_id_}}}};
}

Result<ExecSpec> Plan::exec_of(const std::string& step) const {
  const std::size_t index = index_of(step);
  ExecSpec spec = workflow_->steps[index].exec;
  const Expressions& expressions = *workflow_->expressions;
  const JqValue context(context_of(index));

  std::vector<std::string*> arguments = {&spec.cwd};
  if (!spec.shell) {
    for (std::string& argument : spec.argv) arguments.push_back(&argument);
  }
  for (std::string& value : spec.env | std::views::values) arguments.push_back(&value);
  for (std::string* argument : arguments) {
    if (auto filled = fill_argument(*argument, expressions, context); !filled) {
      return std::unexpected(std::move(filled.error()));
    }
  }
  auto input = expressions.text_of(spec.input, context);
  if (!input) return std::unexpected(std::move(input.error()));
  spec.input = std::move(*input);
  return spec;
}

Result<Plan::Finish> Plan::finish_of(const std::string& step) const {
  const std::size_t index = index_of(step);
  const FinishSpec& spec = workflow_->steps[index].finish;
  const Expressions& expressions = *workflow_->expressions;
  const JqValue context(context_of(index));

  Finish out{.output = spec.output, .artifacts = spec.artifacts};
  if (auto filled = fill(out.output, expressions, context); !filled) return std::unexpected(std::move(filled.error()));
  for (FinishSpec::Artifact& artifact : out.artifacts) {
    auto text = expressions.text_of(artifact.text, context);
    if (!text) return std::unexpected(std::move(text.error()));
    artifact.text = std::move(*text);
  }
  return out;
}

void Plan::start(const std::string& step, std::int64_t now_ms) {
  StepState& state = states_[index_of(step)];
  AGENTD_CHECK(state.status == StepStatus::kPending, "only a pending step starts");
  state.status = StepStatus::kRunning;
  ++state.attempt;
  state.started_ms = now_ms;
  state.finished_ms = 0;
  state.error.clear();
}

bool Plan::end(const std::string& step, StepStatus status, Json output, std::string error, std::int64_t now_ms) {
  const std::size_t index = index_of(step);
  const StepSpec& spec = workflow_->steps[index];
  StepState& state = states_[index];
  AGENTD_CHECK(state.status == StepStatus::kRunning, "only a running step ends");
  AGENTD_CHECK(status == StepStatus::kDone || status == StepStatus::kCancelled || is_failure(status),
               "a running step ends done, failed, timeout or cancelled");
  state.status = status;
  state.output = std::move(output);
  state.error = cut_text(error, kErrorBytes);
  state.finished_ms = now_ms;
  if (status == StepStatus::kDone && spec.kind == StepSpec::Kind::kFinish) output_ = state.output;
  if (!is_failure(status)) return false;
  if (++state.failures <= spec.exec.retries && !cancelled_) {
    state.status = StepStatus::kPending;
    return true;
  }
  note_failure(index);
  return false;
}

void Plan::note_failure(std::size_t index) {
  const StepState& state = states_[index];
  if (workflow_->steps[index].allow_failure) return;
  // A step that failed in its `when` has no time; it came after whatever is noted already.
  if (!error_.empty() && (state.finished_ms == 0 || state.finished_ms >= error_ms_)) return;
  error_ = fmt::format("{}: {}", workflow_->steps[index].id, state.error.empty() ? "failed" : state.error);
  error_ms_ = state.finished_ms;
}

void Plan::set_output(Json output) { output_ = std::move(output); }

void Plan::cancel(std::int64_t now_ms) {
  if (is_terminal(status())) return;
  cancelled_ = true;
  for (StepState& state : states_) {
    if (state.status != StepStatus::kPending) continue;
    state.status = StepStatus::kCancelled;
    state.finished_ms = now_ms;
  }
}

void Plan::recover() {
  for (StepState& state : states_) {
    if (state.status == StepStatus::kRunning) state.status = StepStatus::kPending;
  }
}

RunStatus Plan::status() const {
  bool started = false;
  bool live = false;
  bool failed = false;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const StepState& state = states_[i];
    started = started || state.attempt > 0 || !is_live(state.status);
    live = live || is_live(state.status);
    failed = failed || (is_failure(state.status) && !workflow_->steps[i].allow_failure);
  }
  if (live) return started ? RunStatus::kRunning : RunStatus::kPending;
  if (cancelled_) return RunStatus::kCancelled;
  return failed ? RunStatus::kFailed : RunStatus::kCompleted;
}

const std::string& Plan::error() const { return error_; }
const Json& Plan::output() const { return output_; }
const StepState& Plan::step(const std::string& id) const { return states_[index_of(id)]; }
const Workflow& Plan::workflow() const { return *workflow_; }

std::map<std::string, std::uint64_t> Plan::counts() const {
  std::map<std::string, std::uint64_t> out;
  for (const StepState& state : states_) ++out[std::string(to_string(state.status))];
  return out;
}

Json Plan::step_to_json(const std::string& id) const {
  const StepState& state = step(id);
  return {{"status", to_string(state.status)},
          {"attempt", state.attempt},
          {"failures", state.failures},
          {"started", state.started_ms},
          {"finished", state.finished_ms},
          {"output", state.output},
          {"error", state.error}};
}

void Plan::step_from_json(const std::string& id, const Json& stored) {
  const std::size_t index = index_of(id);
  StepState& state = states_[index];
  const auto member = [&](const char* key) { return stored.is_object() ? stored.value(key, Json()) : Json(); };
  const auto text = [&](const char* key) { return member(key).is_string() ? member(key).get<std::string>() : ""; };
  const auto number = [&](const char* key) { return member(key).is_number() ? member(key).get<std::int64_t>() : 0; };
  state.status = step_status(text("status")).value_or(StepStatus::kPending);
  state.attempt = static_cast<std::uint64_t>(number("attempt"));
  state.failures = static_cast<std::uint64_t>(number("failures"));
  state.started_ms = number("started");
  state.finished_ms = number("finished");
  state.output = member("output");
  state.error = text("error");
  if (state.status == StepStatus::kDone && workflow_->steps[index].kind == StepSpec::Kind::kFinish) {
    output_ = state.output;
  }
  if (state.status == StepStatus::kCancelled) cancelled_ = true;
  if (is_failure(state.status)) note_failure(index);
}

}  // namespace agentd::workflow
