#include "runtime/subagents.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ids.h"
#include "runtime/subagent_state.h"
#include "runtime/subagent_tools.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kKept = 200;  // that have ended
constexpr std::int64_t kWarmMs = 600'000;

std::unexpected<Error> unknown() { return fail(Code::kTaskNotFound, "there is no such subagent, or it is not yours"); }

ToolOutcome outcome_of(const SubagentFacts& facts) {
  if (facts.status == kCompleted) return {.text = fmt::format("{} (subagent {})", facts.result, facts.handle)};
  return {.text = fmt::format("Subagent {} {}: {}", facts.handle, facts.status, facts.error), .is_error = true};
}

}  // namespace

// Whoever waits for a subagent. A sync one ends with who waits for it.
class Subagents::Use final : public ToolUse {
 public:
  Use(Subagents& all, std::string handle, std::uint64_t number)
      : all_(all), handle_(std::move(handle)), number_(number) {}
  ~Use() override {
    Agent* agent = all_.at(handle_);
    if (agent == nullptr || !agent->waiter || agent->waiter->number != number_) return;  // it was told
    agent->waiter.reset();
    if (!agent->is_running()) return;
    agent->facts.mode == kSync ? all_.end(*agent, "cancelled", "whoever it worked for was cancelled")
                               : all_.bound_time(*agent);
  }

 private:
  Subagents& all_;
  const std::string handle_;
  const std::uint64_t number_;
};

Subagents::Subagents(SubagentParts parts) : parts_(std::move(parts)) {}
Subagents::~Subagents() = default;

void Subagents::list(std::vector<ToolFacts>& out) const {
  if (parts_.settings.now().agent.max_subagent_depth == 0 || !parts_.model()) return;
  for (const llm::ToolSpec& spec : {subagent_run_spec(), subagent_send_spec()}) {
    out.push_back({.spec = spec, .beside_others = true, .is_own = true});
  }
}

const Subagents::Agent* Subagents::at(const std::string& handle) const {
  const auto found = agents_.find(handle);
  return found == agents_.end() ? nullptr : found->second.get();
}

Subagents::Agent* Subagents::at(const std::string& handle) {
  return const_cast<Agent*>(std::as_const(*this).at(handle));  // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
}

Subagents::Agent* Subagents::visible(const feed::Viewer& viewer, const std::string& handle) {
  Agent* agent = at(handle);
  const bool seen = agent != nullptr && feed::may_see(viewer, feed::Visibility::owner(agent->facts.principal));
  return seen ? agent : nullptr;
}

std::unique_ptr<ToolUse> Subagents::use(ToolRequest request, ToolListener listener) {
  auto handle = request.name == kSubagentRun ? start(request) : waiting_for(request);
  if (!handle) {
    return done_use(parts_.loop, {.text = handle.error().message, .is_error = true}, std::move(listener));
  }
  Agent& agent = *at(*handle);
  if (request.name == kSubagentRun && agent.facts.mode == kDetached) {
    return done_use(parts_.loop,
                    {.text = fmt::format("Subagent {} has begun. Ask for its result with {}.", *handle, kSubagentSend)},
                    std::move(listener));
  }
  if (!agent.is_running()) return done_use(parts_.loop, outcome_of(agent.facts), std::move(listener));
  agent.waiter =
      Agent::Waiter{.number = ++last_waiter_, .subagent = std::move(request.subagent), .listener = std::move(listener)};
  agent.working.cancel();
  return std::make_unique<Use>(*this, *handle, last_waiter_);
}

Result<std::string> Subagents::start(const ToolRequest& request) {
  const auto& limits = parts_.settings.now().agent;
  const Agent* parent = at(request.subagent);
  const std::uint64_t depth = parent == nullptr ? 1 : parent->facts.depth + 1;
  if (depth > limits.max_subagent_depth) {
    return fail(Code::kUnavailable,
                fmt::format("Subagents may be {} deep here, and no deeper.", limits.max_subagent_depth));
  }
  if (!make_room()) {
    return fail(Code::kUnavailable, fmt::format("{} subagents are at work, and no more may be.", limits.max_subagents));
  }
  auto agent = std::make_unique<Agent>(parts_.loop);
  agent->facts = {.handle = "sub-" + random_hex(8),
                  .mode = request.arguments.value("mode", kSync),
                  .status = kRunning,
                  .instruction = request.arguments.at("instruction"),
                  .parent = request.subagent,
                  .principal = request.principal,
                  .context = request.context,
                  .task = request.task,
                  .created_ms = parts_.clock.wall_ms(),
                  .depth = depth};
  // What those that it works for may not use, it may not either.
  if (parent != nullptr) agent->globs = parent->globs;
  if (auto own = request.arguments.value("tools", std::vector<std::string>{}); !own.empty()) {
    agent->globs.push_back(std::move(own));
  }
  agent->most_tokens = request.arguments.value("tokens", std::uint64_t{0});
  agent->model = parts_.model();
  std::string handle = agent->facts.handle;
  if (const Status begun = spawn(*agent); !begun) return std::unexpected(begun.error());
  Agent& known = *agents_.emplace(handle, std::move(agent)).first->second;
  set_to_work(known, {{"begin", {{"instruction", known.facts.instruction}}}});
  return handle;
}

// Of the task's own, or of what works for it: any other is unknown to it.
Result<std::string> Subagents::waiting_for(const ToolRequest& request) {
  std::string handle = request.arguments.at("handle");
  Agent* agent = at(handle);
  if (agent == nullptr || agent->facts.principal != request.principal || agent->facts.context != request.context) {
    return fail(Code::kTaskNotFound, "There is no such subagent.");
  }
  if (agent->waiter) return fail(Code::kUnavailable, "Somebody waits for it already.");
  if (would_deadlock(request.subagent, handle)) {
    return fail(Code::kUnavailable, "It waits for your own answer, so you cannot wait for its.");
  }
  const std::string message = request.arguments.value("message", "");
  if (message.empty()) return handle;
  if (!agent->is_running() && !agent->is_warm()) {
    return fail(Code::kUnavailable, fmt::format("It has ended ({}); start another one.", agent->facts.status));
  }
  set_to_work(*agent, {{"say", {{"text", message}}}});
  return handle;
}

bool Subagents::would_deadlock(const std::string& waiting, const std::string& handle) const {
  std::string each = waiting;
  while (each != handle) {
    const Agent* agent = at(each);
    if (agent == nullptr || !agent->waiter) return false;
    each = agent->waiter->subagent;
  }
  return true;
}

// Ends the warm one that has rested longest when all places are taken.
bool Subagents::make_room() {
  const auto alive = [](const auto& entry) { return entry.second->has_process && !entry.second->is_closing; };
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(agents_, alive));
  if (count < parts_.settings.now().agent.max_subagents) return true;
  Agent* oldest = nullptr;
  for (const auto& [handle, agent] : agents_) {
    if (agent->is_warm() && (oldest == nullptr || agent->facts.updated_ms < oldest->facts.updated_ms))
      oldest = agent.get();
  }
  if (oldest == nullptr) return false;
  close(*oldest);
  return true;
}

Status Subagents::spawn(Agent& agent) {
  process::ChildSpec spec{.argv = {"/proc/self/exe", "subagent"}, .env = process::base_environment()};
  spec.on_line = [this, handle = agent.facts.handle](std::string_view line) {
    if (Agent* known = at(handle)) take_line(*known, line);
  };
  auto started =
      parts_.processes.spawn(std::move(spec), [this, handle = agent.facts.handle](const process::ChildResult& end) {
        if (Agent* known = at(handle)) reaped(*known, end);
      });
  if (!started) return std::unexpected(std::move(started.error()));
  agent.facts.node = started->id;
  agent.has_process = true;
  parts_.children.started(started->id, started->pid, "subagent:" + agent.facts.handle);
  return {};
}

void Subagents::set_to_work(Agent& agent, Json line) {
  agent.cooling.cancel();
  agent.facts.status = kRunning;
  agent.used.rounds = 0;
  ++agent.said;
  bound_time(agent);
  changed(agent);
  say(agent, line);
}

// Who waits for it has a clock of its own.
void Subagents::bound_time(Agent& agent) {
  const std::int64_t most = parts_.settings.now().agent.budget.turn_timeout_ms;
  if (most == 0 || agent.waiter) return;
  agent.working.arm(most, [this, &agent, most] {
    end(agent, "failed", fmt::format("Stopped: it has worked for {} s (agent.budget.turn_timeout)", most / 1000));
  });
}

void Subagents::rest(Agent& agent, const std::string& result) {
  agent.facts.status = kCompleted;
  agent.facts.result = result;
  agent.working.cancel();
  agent.cooling.arm(kWarmMs, [this, &agent] { close(agent); });
  changed(agent);
  tell(agent);
}

// It ends by itself when it has read that nothing more will be said.
void Subagents::close(Agent& agent) {
  agent.is_closing = true;
  parts_.processes.close_input(agent.facts.node);
}

void Subagents::go_on() {
  std::vector<std::string> handles;
  for (const auto& [handle, agent] : agents_) handles.push_back(handle);
  for (const std::string& handle : handles) {
    const auto held = at(handle) == nullptr ? std::deque<std::string>() : std::exchange(at(handle)->held, {});
    for (const std::string& line : held) {
      if (Agent* agent = at(handle)) take_line(*agent, line);
    }
    if (Agent* agent = at(handle)) begin_uses(*agent);
  }
}

void Subagents::end(Agent& agent, const std::string& status, const std::string& error) {
  if (!agent.is_running()) return;
  agent.facts.status = status;
  agent.facts.error = error;
  agent.working.cancel();
  agent.allowed.clear();
  agent.held.clear();
  // They may be calling us.
  parts_.loop.post([question = std::move(agent.question), uses = std::exchange(agent.uses, {})] {});
  if (agent.has_process) {
    parts_.children.cancelled(agent.facts.node);
    parts_.processes.cancel(agent.facts.node);
  }
  changed(agent);
  tell(agent);
}

void Subagents::reaped(Agent& agent, const process::ChildResult& result) {
  parts_.children.reaped(agent.facts.node);
  agent.has_process = false;
  agent.cooling.cancel();
  end(agent, "crashed", "its process ended: " + result.reason);
  if (agent.is_leaving) return remove(std::string(agent.facts.handle));
  forget_oldest();
}

void Subagents::tell(Agent& agent) {
  auto waiter = std::exchange(agent.waiter, std::nullopt);
  if (waiter) waiter->listener.done(outcome_of(agent.facts));
}

void Subagents::changed(Agent& agent) {
  agent.facts.updated_ms = parts_.clock.wall_ms();
  parts_.feed.push(feed::Visibility::operators(), payload(agent.facts));
}

void Subagents::forget_oldest() {
  while (agents_.size() > kKept) {
    auto oldest = agents_.end();
    for (auto at = agents_.begin(); at != agents_.end(); ++at) {
      const bool over = !at->second->has_process && !at->second->is_running();
      const bool older = oldest == agents_.end() || at->second->facts.updated_ms < oldest->second->facts.updated_ms;
      if (over && older) oldest = at;
    }
    if (oldest == agents_.end()) return;
    remove(oldest->first);
  }
}

void Subagents::remove(const std::string& handle) {
  parts_.feed.push(feed::Visibility::operators(), feed::SubagentRemoved{handle});
  agents_.erase(handle);
}

void Subagents::forget(const std::string& principal, const std::string& context) {
  std::vector<std::string> over;
  for (const auto& [handle, agent] : agents_) {
    if (agent->facts.principal != principal || agent->facts.context != context) continue;
    agent->is_leaving = true;
    if (agent->is_warm()) close(*agent);
    if (!agent->has_process) over.push_back(handle);
  }
  for (const std::string& handle : over) remove(handle);
}

Status Subagents::send(const feed::Viewer& viewer, const std::string& handle, const std::string& message) {
  Agent* agent = visible(viewer, handle);
  if (agent == nullptr) return unknown();
  if (!agent->is_running() && !agent->is_warm()) {
    return fail(Code::kUnsupportedOperation, fmt::format("the subagent has ended ({})", agent->facts.status));
  }
  set_to_work(*agent, {{"say", {{"text", message}}}});
  return {};
}

Status Subagents::kill(const feed::Viewer& viewer, const std::string& handle, const std::string& reason) {
  Agent* agent = visible(viewer, handle);
  if (agent == nullptr) return unknown();
  if (!agent->is_running()) return fail(Code::kTaskNotCancelable, "the subagent is not at work");
  end(*agent, "killed", reason);
  return {};
}

void Subagents::cancel_task(const std::string& task) {
  for (const auto& [handle, agent] : agents_) {
    if (agent->facts.task == task) end(*agent, "cancelled", "its task was cancelled");
  }
}

void Subagents::stop() {
  // Nobody waits for any of them any more, so none ends another.
  for (const auto& [handle, agent] : agents_) agent->waiter.reset();
  for (const auto& [handle, agent] : agents_) {
    agent->question = {};
    agent->uses.clear();
  }
}

const SubagentFacts* Subagents::find(const feed::Viewer& viewer, const std::string& handle) const {
  const Agent* agent = at(handle);
  const bool seen = agent != nullptr && feed::may_see(viewer, feed::Visibility::owner(agent->facts.principal));
  return seen ? &agent->facts : nullptr;
}

std::vector<feed::Subagent> Subagents::all() const {
  std::vector<feed::Subagent> out;
  for (const auto& [handle, agent] : agents_) out.push_back(payload(agent->facts));
  return out;
}

feed::Subagent Subagents::payload(const SubagentFacts& facts) {
  return {.handle = facts.handle,
          .mode = facts.mode,
          .status = facts.status,
          .tokens = facts.tokens,
          .error = facts.error.empty() ? std::nullopt : std::optional(facts.error),
          .updated = static_cast<feed::Count>(facts.updated_ms)};
}

}  // namespace agentd::runtime
