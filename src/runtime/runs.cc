#include "runtime/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "a2a/extensions.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/log.h"

namespace agentd::runtime {
namespace {

using workflow::RunStatus;
using workflow::StepSpec;
using workflow::StepStatus;

constexpr std::size_t kProcesses = 64;  // at once, of all runs
constexpr std::size_t kKept = 500;      // that ended, in memory
constexpr std::size_t kKeptOutputBytes = 4'096;
constexpr std::size_t kErrorBytes = 2'000;  // of a step; the feed takes 2,048 characters

const StepSpec& spec_of(const workflow::Workflow& workflow, const std::string& step) {
  const auto at = std::ranges::find(workflow.steps, step, &StepSpec::id);
  AGENTD_CHECK(at != workflow.steps.end(), "a plan names a step that its workflow does not have");
  return *at;
}

StepEnd failed(const Error& error) { return {.status = StepStatus::kFailed, .output = {}, .error = error.message}; }

StepEnd cancelled() { return {.status = StepStatus::kCancelled, .output = {}, .error = "cancelled"}; }

bool is_kept(const RunFacts& facts) { return dump_json(facts.output).size() <= kKeptOutputBytes; }

// Of a checked workflow; nothing for null.
std::shared_ptr<const schema::Validator> compile(const Json& schema) {
  if (schema.is_null()) return nullptr;
  auto compiled = schema::compile(schema);
  AGENTD_CHECK(compiled.has_value(), "the schemas of a checked workflow compile");
  return std::make_shared<const schema::Validator>(std::move(*compiled));
}

feed::Visibility visibility(const RunFacts& facts) { return feed::Visibility::owner(facts.principal); }

}  // namespace

std::string fresh_run_id() { return "run-" + random_hex(16); }

Runs::Runs(process::Children& processes, ChildList& children, Journal& journal, feed::Feed& feed, const Clock& clock,
           Tasks& tasks, Instance& instance, const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows,
           config::Retention retention)
    : processes_(processes),
      children_(children),
      journal_(journal),
      feed_(feed),
      clock_(clock),
      tasks_(tasks),
      instance_(instance),
      retention_(retention) {
  set_workflows(workflows);
  journal_.add_source([this](store::Batch& batch) { append_rows(batch); });
}

void Runs::set_workflows(const std::vector<std::shared_ptr<const workflow::Workflow>>& workflows) {
  workflows_.clear();
  for (const auto& workflow : workflows) {
    Known known{.workflow = workflow, .inputs = compile(workflow->inputs), .args = nullptr};
    known.args = workflow->command ? compile(workflow->command->schema) : nullptr;
    if (!known.args) known.args = known.inputs;
    workflows_.emplace(workflow->name, std::move(known));
  }
}

Status Runs::load() {
  auto rows = journal_.store().runs();
  if (!rows) return std::unexpected(rows.error());
  for (const store::RunRow& row : *rows) {
    const auto status = workflow::run_status(row.status);
    if (!status)
      return fail(Code::kUnavailable, "the store holds run " + row.id + " with an unknown status " + row.status);
    if (workflow::is_terminal(*status)) {
      ended_[row.id] = {.principal = row.principal};
      ended_by_age_.emplace(row.updated_ms, row.id);
      continue;
    }
    auto facts = facts_from_row(row);
    if (!facts) return std::unexpected(facts.error());
    Run run{.facts = std::move(*facts)};
    const auto known = workflows_.find(run.facts.workflow);
    if (known != workflows_.end() && known->second.workflow->hash == run.facts.hash) {
      run.plan.emplace(known->second.workflow, run.facts.id, run.facts.inputs);
      auto steps = journal_.store().steps(row.id);
      if (!steps) return std::unexpected(steps.error());
      for (const store::StepRow& step : *steps) {
        const Json state = Json::parse(step.body, nullptr, false);
        if (state.is_discarded()) {
          return fail(Code::kUnavailable,
                      fmt::format("step {} of run {} cannot be read from the store", step.step, row.id));
        }
        run.plan->step_from_json(step.step, state);
      }
      run.plan->set_output(run.facts.output);
      run.plan->recover();
      if (run.facts.cancelled) run.plan->cancel(clock_.wall_ms());
    }
    live_.emplace(row.id, std::move(run));
  }
  return {};
}

void Runs::resume() { go_on(); }

void Runs::stop() {
  stopping_ = true;
  for (const auto& [child, started] : started_) processes_.cancel(child);
}

Status Runs::check(const std::string& name, const Json& inputs, const std::string& workflow_path,
                   const std::string& inputs_path) const {
  const auto known = workflows_.find(name);
  if (known == workflows_.end()) {
    return std::unexpected(
        Error{.code = Code::kInvalidParams,
              .message = fmt::format("there is no workflow {} here", quote_json(cut_text(name, 100))),
              .violations = {{workflow_path, "is not the name of a workflow of this daemon"}}});
  }
  if (!known->second.inputs) return {};
  auto violations = known->second.inputs->validate(inputs, inputs_path);
  if (violations.empty()) return {};
  return std::unexpected(Error{.code = Code::kInvalidParams,
                               .message = fmt::format("the inputs of workflow {} are not right: {} {}", name,
                                                      violations.front().field, violations.front().description),
                               .violations = std::move(violations)});
}

std::string Runs::start(StartRun request) {
  const Known& known = workflows_.at(request.workflow);
  Run run;
  run.facts = {.id = std::move(request.id),
               .workflow = request.workflow,
               .hash = known.workflow->hash,
               .start = std::move(request.start),
               .principal = std::move(request.principal),
               .task = std::move(request.task),
               .inputs = std::move(request.inputs),
               .created_ms = clock_.wall_ms()};
  run.plan.emplace(known.workflow, run.facts.id, run.facts.inputs);
  const std::string id = run.facts.id;
  if (Task* task = tasks_.working(run.facts.task)) {
    if (task->link.id != id) tasks_.set_link(*task, {"run", id});
    if (task->state != a2a::TaskState::kWorking) tasks_.set_state(*task, a2a::TaskState::kWorking);
  }
  live_.emplace(id, std::move(run));
  instance_.count([](Counters& c) { ++c.runs_started; });
  advance(id);
  return id;
}

void Runs::cancel(const std::string& id) {
  const auto at = live_.find(id);
  if (at == live_.end() || std::exchange(at->second.facts.cancelled, true)) return;
  Run& run = at->second;
  if (run.plan) run.plan->cancel(clock_.wall_ms());
  dirty_.insert(id);
  journal_.touched();
  for (const auto& [step, child] : run.children) {
    processes_.cancel(child);
    children_.cancelled(child);
  }
  for (const auto& [waiting_run, step] : std::exchange(waiting_, {})) {
    if (waiting_run == id) {
      end_step(run, step, cancelled());
    } else {
      waiting_.emplace_back(waiting_run, step);
    }
  }
  advance(id);
}

void Runs::set_paused(const std::string& id, bool paused) {
  const auto at = live_.find(id);
  if (at == live_.end() || std::exchange(at->second.facts.paused, paused) == paused) return;
  advance(id);
}

void Runs::go_on() {
  std::vector<std::string> ids;
  for (const auto& [id, run] : live_) ids.push_back(id);
  for (const std::string& id : ids) advance(id);
}

void Runs::advance(const std::string& id) {
  const auto at = live_.find(id);
  if (at == live_.end()) return;
  Run& run = at->second;
  if (!run.plan) {
    run.facts.status = RunStatus::kStalled;
    run.facts.error = "workflow " + run.facts.workflow + " is gone or was changed while this run worked";
    return finish(id);
  }
  // Ends that are not yet durable have not been told, so nothing may follow from them; the last of them comes here again.
  if (!run.settling.empty()) return;
  std::vector<std::string> ready = run.plan->ready();
  for (const std::string& step : run.plan->take_settled()) run.dirty.insert(step);
  if (run.facts.paused || instance_.paused()) ready.clear();
  for (const std::string& step : ready) run.plan->start(step, clock_.wall_ms());
  RunStatus status = run.plan->status();
  const bool over = workflow::is_terminal(status);
  if (run.facts.paused && !over) status = RunStatus::kPaused;
  const bool same = std::exchange(run.facts.status, status) == status && run.plan->counts() == run.facts.steps;
  if (over) return finish(id);
  if (!same || !run.told) changed(run);
  for (const std::string& step : ready) start_step(run, step);
}

void Runs::start_step(Run& run, const std::string& step) {
  const StepSpec& spec = spec_of(run.plan->workflow(), step);
  run.dirty.insert(step);
  dirty_.insert(run.facts.id);
  journal_.touched();
  feed_.push(feed::Visibility::operators(),
             feed::StepStart{.run = run.facts.id,
                             .step = step,
                             .kind = spec.kind == StepSpec::Kind::kExec ? "exec" : "finish",
                             .attempt = run.plan->step(step).attempt});
  journal_.once_durable([this, id = run.facts.id, step] { spawn(id, step); });
}

void Runs::spawn(const std::string& id, const std::string& step) {
  const auto at = live_.find(id);
  if (at == live_.end() || stopping_) return;
  Run& run = at->second;
  if (run.facts.cancelled) return end_step(run, step, cancelled());
  if (spec_of(run.plan->workflow(), step).kind == StepSpec::Kind::kFinish) return finish_step(run, step);
  if (started_.size() >= kProcesses) {
    waiting_.emplace_back(id, step);
    return;
  }
  auto spec = run.plan->exec_of(step);
  if (!spec) return end_step(run, step, failed(spec.error()));
  process::ChildSpec child{.argv = spec->argv,
                           .env = process::base_environment(),
                           .cwd = spec->cwd,
                           .input = spec->input,
                           .output_cap = spec->output_cap,
                           .timeout_ms = spec->timeout_ms};
  std::ranges::move(spec->env, std::back_inserter(child.env));
  child.env.emplace_back("AGENTD_RUN", id);
  child.env.emplace_back("AGENTD_STEP", step);
  child.env.emplace_back("AGENTD_ATTEMPT", std::to_string(run.plan->step(step).attempt));
  child.env.emplace_back("AGENTD_IDEMPOTENCY_KEY", id + "/" + step);
  auto number = std::make_shared<process::ChildId>(0);
  auto started = processes_.spawn(
      std::move(child),
      [this, number, json = spec->json_output](const process::ChildResult& r) { child_ended(*number, json, r); });
  if (!started) return end_step(run, step, failed(started.error()));
  *number = started->id;
  run.children[step] = started->id;
  started_[started->id] = {.run = id, .step = step};
  children_.started(started->id, started->pid, fmt::format("step:{}/{}", id, step));
}

void Runs::child_ended(process::ChildId child, bool json_output, const process::ChildResult& result) {
  if (stopping_) return;
  const Started started = started_.extract(child).mapped();
  children_.reaped(child);
  if (const auto at = live_.find(started.run); at != live_.end()) {
    at->second.children.erase(started.step);
    end_step(at->second, started.step, step_end(result, json_output));
  }
  while (!waiting_.empty() && started_.size() < kProcesses) {
    const auto [run, step] = waiting_.front();
    waiting_.pop_front();
    spawn(run, step);
  }
}

void Runs::finish_step(Run& run, const std::string& step) {
  auto finish = run.plan->finish_of(step);
  if (!finish) return end_step(run, step, failed(finish.error()));
  if (Task* task = tasks_.working(run.facts.task)) {
    for (const auto& artifact : finish->artifacts) {
      Json part = {{"text", artifact.text}};
      if (!artifact.media_type.empty()) part["mediaType"] = artifact.media_type;
      tasks_.put_artifact(*task, {{"artifactId", task->id + "." + artifact.name},
                                  {"name", artifact.name},
                                  {"parts", Json::array({std::move(part)})}});
    }
  }
  run.plan->set_output(finish->output);
  end_step(run, step, {.output = finish->output});
}

// Durable first, told afterwards: what has been seen to end stays ended.
void Runs::end_step(Run& run, const std::string& step, StepEnd end) {
  end.error = cut_text(end.error, kErrorBytes);
  feed::StepDone done{.run = run.facts.id,
                      .step = step,
                      .status = std::string(to_string(end.status)),
                      .attempt = run.plan->step(step).attempt};
  if (!end.error.empty()) done.err = end.error;
  run.plan->end(step, end.status, std::move(end.output), std::move(end.error), clock_.wall_ms());
  run.settling.insert(step);
  run.dirty.insert(step);
  dirty_.insert(run.facts.id);
  run.facts.output = run.plan->output();
  journal_.once_durable([this, id = run.facts.id, step, done = std::move(done)] {
    const auto at = live_.find(id);
    if (at == live_.end() || stopping_) return;
    at->second.settling.erase(step);
    feed_.push(feed::Visibility::operators(), done);
    advance(id);
  });
}

void Runs::changed(Run& run) {
  run.facts.updated_ms = clock_.wall_ms();
  if (run.plan) {
    run.facts.steps = run.plan->counts();
    run.facts.output = run.plan->output();
  }
  run.told = true;
  dirty_.insert(run.facts.id);
  journal_.touched();
  feed_.push(visibility(run.facts), runtime::payload(run.facts));
}

void Runs::finish(const std::string& id) {
  Run& run = live_.at(id);
  if (run.plan && run.facts.status != RunStatus::kCompleted) run.facts.error = run.plan->error();
  run.facts.finished_ms = clock_.wall_ms();
  changed(run);
  append_rows(pending_);  // its last rows, before it leaves memory
  tell_task(run.facts);
  ended_[id] = {.principal = run.facts.principal, .facts = run.facts, .written = false};
  ended_by_age_.emplace(run.facts.updated_ms, id);
  // Each that ends puts one other out of the newest.
  if (ended_by_age_.size() > kKept) forget(std::prev(ended_by_age_.end(), kKept + 1)->second);
  journal_.once_durable([this, id] {
    if (const auto at = ended_.find(id); at != ended_.end()) {
      at->second.written = true;
      const RunFacts& facts = *at->second.facts;
      const bool newest =
          ended_by_age_.size() <= kKept || std::pair(facts.updated_ms, id) >= *std::prev(ended_by_age_.end(), kKept);
      if (!newest || !is_kept(facts)) at->second.facts.reset();
    }
    enforce_retention();
  });
  live_.erase(id);
  instance_.count([](Counters& c) { ++c.runs_finished; });
}

void Runs::forget(const std::string& id) {
  Ended& ended = ended_.at(id);
  if (ended.written) ended.facts.reset();
}

void Runs::tell_task(const RunFacts& facts) {
  Task* task = tasks_.working(facts.task);
  if (task == nullptr) return;
  if (facts.status == RunStatus::kCompleted && !facts.output.is_null()) {
    tasks_.put_artifact(*task, result_artifact(*task, facts.output));
  }
  const auto state = facts.status == RunStatus::kCompleted   ? a2a::TaskState::kCompleted
                     : facts.status == RunStatus::kRefused   ? a2a::TaskState::kRejected
                     : facts.status == RunStatus::kCancelled ? a2a::TaskState::kCanceled
                                                             : a2a::TaskState::kFailed;
  tasks_.set_state(*task, state, facts.error.empty() ? Json() : agent_message(*task, facts.error));
}

void Runs::enforce_retention() {
  const std::int64_t now = clock_.wall_ms();
  while (!ended_by_age_.empty()) {
    const auto [updated_ms, id] = *ended_by_age_.begin();
    const bool old = retention_.ttl_ms > 0 && updated_ms + retention_.ttl_ms <= now;
    if (!old && ended_by_age_.size() <= retention_.keep_last) break;
    feed_.push(feed::Visibility::owner(ended_.at(id).principal), feed::RunRemoved{id});
    ended_.erase(id);
    ended_by_age_.erase(ended_by_age_.begin());
    pending_.emplace_back(store::DropRun{id});
    journal_.touched();
  }
}

void Runs::append_rows(store::Batch& batch) {
  if (&batch != &pending_) {
    std::ranges::move(pending_, std::back_inserter(batch));
    pending_.clear();
  }
  for (const std::string& id : dirty_) {
    const auto at = live_.find(id);
    if (at == live_.end()) continue;
    batch.emplace_back(to_row(at->second.facts));
    for (const std::string& step : at->second.dirty) {
      batch.emplace_back(
          store::StepRow{.run = id, .step = step, .body = dump_json(at->second.plan->step_to_json(step))});
    }
    at->second.dirty.clear();
  }
  dirty_.clear();
}

void Runs::newest(const feed::Viewer& viewer, std::size_t limit,
                  const std::function<void(const RunFacts&)>& seen) const {
  std::vector<const RunFacts*> live;
  for (const auto& [id, run] : live_) {
    if (feed::may_see(viewer, visibility(run.facts))) live.push_back(&run.facts);
  }
  std::ranges::sort(live, std::ranges::greater{}, &RunFacts::updated_ms);
  std::size_t left = limit;
  for (const RunFacts* facts : live) {
    if (left-- == 0) return;
    seen(*facts);
  }
  std::size_t age = 0;
  for (auto at = ended_by_age_.rbegin(); at != ended_by_age_.rend() && left > 0; ++at, ++age) {
    Ended& ended = ended_.at(at->second);
    if (!feed::may_see(viewer, feed::Visibility::owner(ended.principal))) continue;
    if (!ended.facts) {
      const auto row = journal_.store().run(at->second);
      if (!row || !*row) continue;
      auto facts = facts_from_row(**row);
      if (!facts) continue;
      if (age >= kKept || !is_kept(*facts)) {
        seen(*facts);
        --left;
        continue;
      }
      facts->inputs = nullptr;
      ended.facts = *std::move(facts);
    }
    seen(*ended.facts);
    --left;
  }
}

const Run* Runs::working(const feed::Viewer& viewer, const std::string& id) const {
  const auto at = live_.find(id);
  return at != live_.end() && feed::may_see(viewer, visibility(at->second.facts)) ? &at->second : nullptr;
}

Result<Runs::Whole> Runs::find(const feed::Viewer& viewer, const std::string& id, bool with_steps) const {
  Whole out;
  if (const Run* run = working(viewer, id)) {
    out.facts = run->facts;
    if (!run->plan) return out;
    for (const StepSpec& step : run->plan->workflow().steps) out.steps[step.id] = run->plan->step_to_json(step.id);
    return out;
  }
  const auto ended = ended_.find(id);
  if (ended == ended_.end() || !feed::may_see(viewer, feed::Visibility::owner(ended->second.principal))) {
    return fail(Code::kTaskNotFound, "there is no such run, or it is not yours");
  }
  if (ended->second.facts) {
    out.facts = *ended->second.facts;
  } else {
    const auto row = journal_.store().run(id);
    if (!row) return std::unexpected(row.error());
    if (!*row) return fail(Code::kTaskNotFound, "there is no such run, or it is not yours");
    auto facts = facts_from_row(**row);
    if (!facts) return std::unexpected(facts.error());
    out.facts = *std::move(facts);
  }
  if (!with_steps) return out;
  const auto rows = journal_.store().steps(id);
  if (!rows) return std::unexpected(rows.error());
  for (const store::StepRow& row : *rows) out.steps[row.step] = Json::parse(row.body, nullptr, false);
  return out;
}

std::size_t Runs::count(const feed::Viewer& viewer) const {
  const auto seen = [&](const std::string& principal) {
    return feed::may_see(viewer, feed::Visibility::owner(principal));
  };
  const auto live = std::ranges::count_if(live_, [&](const auto& entry) { return seen(entry.second.facts.principal); });
  const auto ended = std::ranges::count_if(ended_, [&](const auto& entry) { return seen(entry.second.principal); });
  return static_cast<std::size_t>(live + ended);
}

}  // namespace agentd::runtime
