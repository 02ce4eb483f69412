#include "runtime/script_turn.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/ids.h"

namespace agentd::runtime {
namespace {

a2a::TaskState to_task_state(llm::State state) {
  switch (state) {
    case llm::State::kCompleted: return a2a::TaskState::kCompleted;
    case llm::State::kFailed: return a2a::TaskState::kFailed;
    case llm::State::kCanceled: return a2a::TaskState::kCanceled;
    case llm::State::kRejected: return a2a::TaskState::kRejected;
    case llm::State::kInputRequired: return a2a::TaskState::kInputRequired;
    case llm::State::kAuthRequired: return a2a::TaskState::kAuthRequired;
  }
  return a2a::TaskState::kFailed;
}

bool has_artifact(const Task& task, const std::string& id) {
  return std::ranges::any_of(task.artifacts, [&](const Json& known) { return known["artifactId"] == id; });
}

}  // namespace

ScriptTurn::ScriptTurn(const TurnParts& parts, TurnFacts facts, llm::Script script, Ask ask, Said said,
                       std::function<void(TurnAtWork&)> left)
    : TurnAtWork(parts, std::move(facts), std::move(left)),
      script_(std::move(script)),
      ask_(std::move(ask)),
      said_(std::move(said)),
      timer_(parts.loop) {}

void ScriptTurn::replace(const Json& artifacts) {
  for (const Json& artifact : artifacts) left_over_.insert(artifact["artifactId"]);
}

void ScriptTurn::begin() {
  set_phase("thinking");
  go_on();
}

void ScriptTurn::hear(const Json& message, std::uint64_t) { queued_.push_back(message); }

void ScriptTurn::go_on() {
  if (hold()) return;
  while (next_ < script_.actions.size()) {
    if (!std::visit([this](const auto& action) { return act(action); }, script_.actions[next_])) return;
    ++next_;
  }
  finish(a2a::TaskState::kCompleted, nullptr);
}

bool ScriptTurn::go_on_after(std::int64_t ms) {
  timer_.arm(ms, [this] {
    set_phase("thinking");
    ++next_;
    go_on();
  });
  return false;
}

bool ScriptTurn::act(const llm::Text& text) {
  // The parts of one artifact are read as one text: what comes later begins a paragraph.
  const bool more = std::exchange(answered_, true);
  parts_.tasks.put_artifact(task(), text_artifact("answer", (more ? "\n\n" : "") + text.text), more);
  return true;
}

bool ScriptTurn::act(const llm::Say& say) {
  parts_.tasks.set_state(task(), a2a::TaskState::kWorking, agent_message(task(), say.text));
  return true;
}

bool ScriptTurn::act(const llm::Artifact& artifact) {
  const std::string id = artifact.id.empty() ? artifact.name : artifact.id;
  Json out = {{"artifactId", id}, {"name", artifact.name}};
  if (!artifact.description.empty()) out["description"] = artifact.description;
  out["parts"] = artifact.parts;
  const bool there = left_over_.erase(id) == 0 && has_artifact(task(), id);
  parts_.tasks.put_artifact(task(), out, artifact.append && there, artifact.append && !artifact.last_chunk);
  return true;
}

bool ScriptTurn::act(const llm::Chunks& chunks) {
  pieces_ = llm::pieces(chunks);
  next_piece_ = 0;
  put_chunk();
  return false;
}

bool ScriptTurn::act(const llm::Delay& delay) { return go_on_after(delay.ms); }

bool ScriptTurn::act(const llm::SetState& state) {
  finish(to_task_state(state.state), state.message.empty() ? Json() : agent_message(task(), state.message));
  return false;
}

bool ScriptTurn::act(const llm::DirectMessage& message) {
  say_directly(message);
  return false;
}

bool ScriptTurn::act(const llm::RunWorkflow& run) {
  if (const Status right = parts_.runs.check(run.name, run.inputs, "workflow", "workflow.inputs"); !right) {
    finish(a2a::TaskState::kFailed, agent_message(task(), right.error().message));
    return false;
  }
  leave();
  parts_.runs.start({.workflow = run.name,
                     .inputs = run.inputs,
                     .start = "message",
                     .principal = facts().principal,
                     .task = facts().task});
  return false;
}

bool ScriptTurn::act(const llm::UseTool& tool) {
  parts_.instance.count([](Counters& c) { ++c.tool_calls; });
  set_phase("tool", tool.name);
  return go_on_after(tool.delay_ms);
}

void ScriptTurn::say_directly(const llm::DirectMessage& message) {
  if (!facts().task.empty()) {
    Json out = agent_message(task(), "");
    out["parts"] = message.parts;
    return finish(a2a::TaskState::kCompleted, std::move(out));
  }
  Json out = {
      {"messageId", random_uuid()}, {"contextId", facts().context}, {"role", "ROLE_AGENT"}, {"parts", message.parts}};
  parts_.conversations.add(conversation(), out, false);
  leave();
  said_(std::move(out));
}

void ScriptTurn::put_chunk() {
  const auto& chunks = std::get<llm::Chunks>(script_.actions[next_]);
  const bool more = next_piece_ + 1 < pieces_.size();
  parts_.tasks.put_artifact(task(), text_artifact(chunks.artifact, pieces_[next_piece_]), next_piece_ > 0, more);
  ++next_piece_;
  timer_.arm(more ? chunks.delay_ms : 0, [this, more] {
    if (more) return put_chunk();
    ++next_;
    go_on();
  });
}

void ScriptTurn::finish(a2a::TaskState state, Json message) {
  const bool refused =
      state == a2a::TaskState::kFailed || state == a2a::TaskState::kRejected || state == a2a::TaskState::kCanceled;
  if (!refused && !queued_.empty()) return next_round();
  end(state, std::move(message));
}

void ScriptTurn::next_round() {
  const Json message = std::move(queued_.front());
  queued_.pop_front();
  // The turn of the conversation that is not answered yet and has the rest behind it. A conversation that the retention dropped
  // meanwhile counts from its new beginning.
  const std::uint64_t turns = conversation().turns;
  script_ = ask_(message, turns > queued_.size() ? turns - queued_.size() : 1);
  next_ = 0;
  ++edit_activity().round;
  set_phase("thinking");
  timer_.arm(0, [this] { go_on(); });
}

}  // namespace agentd::runtime
