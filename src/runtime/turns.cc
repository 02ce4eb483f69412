#include "runtime/turns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/ids.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kQueued = 64;  // messages for one turn

std::string text_of(const Json& message) {
  std::string out;
  for (const Json& part : message["parts"]) {
    if (!part.contains("text")) continue;
    if (!out.empty()) out += '\n';
    out += part["text"].get<std::string>();
  }
  return out;
}

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

// The number of the turn that is not answered yet and has `after` more behind it. A conversation that the retention
// dropped meanwhile counts from its new beginning.
std::uint64_t turn_number(const Conversation& conversation, std::size_t after) {
  return conversation.turns > after ? conversation.turns - after : 1;
}

bool has_artifact(const Task& task, const std::string& id) {
  return std::ranges::any_of(task.artifacts, [&](const Json& known) { return known["artifactId"] == id; });
}

Json text_artifact(const std::string& name, const std::string& text) {
  return {{"artifactId", name}, {"name", name}, {"parts", {{{"text", text}}}}};
}

}  // namespace

struct Turns::Live {
  Live(net::Loop& loop, Turn begun) : turn(std::move(begun)), timer(loop) {}

  Turn turn;
  std::string task;  // "" for a turn that only speaks
  feed::Activity activity;
  feed::Count pushed_round = 0;
  std::size_t next = 0;             // of the script's actions
  std::vector<std::string> pieces;  // of the chunks being put
  std::size_t next_piece = 0;
  std::set<std::string> left_over;  // artifacts of the turn that a crash cut off: not added to, but replaced
  bool held = false;                // by a pause, before its next action
  bool answered = false;            // the artifact "answer" is there
  std::deque<Json> queued;
  std::move_only_function<void(Json)> said;
  net::Timer timer;
};

Turns::Turns(net::Loop& loop, feed::Feed& feed, const Clock& clock, Tasks& tasks, Conversations& conversations,
             Runs& runs, Instance& instance, llm::ScriptedModel model)
    : loop_(loop),
      feed_(feed),
      clock_(clock),
      tasks_(tasks),
      conversations_(conversations),
      runs_(runs),
      instance_(instance),
      model_(std::move(model)) {}

// An armed timer holds on to its turn.
Turns::~Turns() {
  for (const auto& [id, live] : live_) live->timer.cancel();
}

Turn Turns::ask(const Conversation& conversation, const Json& message, std::uint64_t number) {
  return {.principal = conversation.principal,
          .context = conversation.context,
          .script = model_.answer({.text = text_of(message), .message_id = message["messageId"], .turn = number})};
}

Turn Turns::begin(Conversation& conversation, const Json& message) {
  conversations_.add(conversation, message, true);
  instance_.count([](Counters& c) { ++c.turns; });
  return ask(conversation, message, conversation.turns);
}

Turns::LivePtr Turns::start(Turn turn, const std::string& task) {
  auto live = std::make_shared<Live>(loop_, std::move(turn));
  live->task = task;
  const auto now = static_cast<feed::Count>(clock_.wall_ms());
  live->activity = {.id = "act-" + random_hex(16),
                    .task = task.empty() ? std::nullopt : std::optional(task),
                    .ctx = live->turn.context,
                    .round = 1,
                    .started_ms = now};
  live_.emplace(live->activity.id, live);
  if (!task.empty()) by_task_[task] = live->activity.id;
  set_phase(*live, "thinking");
  return live;
}

void Turns::work(Turn turn, Task& task) {
  tasks_.set_state(task, a2a::TaskState::kWorking);
  go_on(start(std::move(turn), task.id));
}

void Turns::speak(Turn turn, std::move_only_function<void(Json)> said) {
  const auto live = start(std::move(turn), "");
  live->said = std::move(said);
  go_on(live);
}

void Turns::queue(Task& task, const Json& message) {
  tasks_.add_message(task, message);
  conversations_.add(conversations_.open(task.principal, task.context), message, true);
  if (const auto at = by_task_.find(task.id); at != by_task_.end()) live_.at(at->second)->queued.push_back(message);
}

bool Turns::is_full(const Task& task) const {
  const auto at = by_task_.find(task.id);
  return at != by_task_.end() && live_.at(at->second)->queued.size() >= kQueued;
}

void Turns::cancel(Task& task) {
  if (const auto at = by_task_.find(task.id); at != by_task_.end()) {
    const auto live = live_.at(at->second);
    leave(*live);
  }
  tasks_.set_state(task, a2a::TaskState::kCanceled);
}

void Turns::resume(Task& task) {
  if (task.link.kind != "turn" || a2a::is_interrupted(task.state)) return;
  // The messages after the agent's last word are those that nobody has answered.
  std::size_t first = task.history.size();
  while (first > 0 && task.history[first - 1]["role"] == "ROLE_USER") --first;
  if (first == task.history.size()) return tasks_.set_state(task, a2a::TaskState::kCompleted);
  const Conversation& conversation = conversations_.open(task.principal, task.context);
  Turn turn = ask(conversation, task.history[first], turn_number(conversation, task.history.size() - first - 1));
  if (task.state != a2a::TaskState::kWorking) tasks_.set_state(task, a2a::TaskState::kWorking);
  const auto live = start(std::move(turn), task.id);
  for (const Json& artifact : task.artifacts) live->left_over.insert(artifact["artifactId"]);
  for (std::size_t i = first + 1; i < task.history.size(); ++i) live->queued.push_back(task.history[i]);
  go_on(live);
}

void Turns::go_on() {
  std::vector<LivePtr> held;
  for (const auto& [id, live] : live_) {
    if (live->held) held.push_back(live);
  }
  for (const LivePtr& live : held) {
    set_phase(*live, "thinking");
    go_on(live);
  }
}

// Performs actions until one takes time, or the turn has ended.
void Turns::go_on(const LivePtr& live) {
  live->held = instance_.paused();
  if (live->held) return set_phase(*live, "waiting");
  while (live->next < live->turn.script.actions.size()) {
    if (!perform(live, live->turn.script.actions[live->next])) return;
    ++live->next;
  }
  end(live, a2a::TaskState::kCompleted, nullptr);
}

// False: it goes on later, or the turn is over.
bool Turns::perform(const LivePtr& live, const llm::Action& action) {
  Task* task = live->task.empty() ? nullptr : tasks_.working(live->task);
  AGENTD_CHECK(task != nullptr || live->said, "a turn works on a task that has ended");
  return std::visit([&](const auto& what) { return act(live, task, what); }, action);
}

bool Turns::go_on_after(const LivePtr& live, std::int64_t ms) {
  live->timer.arm(ms, [this, live] {
    set_phase(*live, "thinking");
    ++live->next;
    go_on(live);
  });
  return false;
}

bool Turns::act(const LivePtr& live, Task* task, const llm::Text& text) {
  // The parts of one artifact are read as one text: what comes later begins a paragraph.
  const bool more = std::exchange(live->answered, true);
  tasks_.put_artifact(*task, text_artifact("answer", (more ? "\n\n" : "") + text.text), more);
  return true;
}

bool Turns::act(const LivePtr&, Task* task, const llm::Say& say) {
  tasks_.set_state(*task, a2a::TaskState::kWorking, agent_message(*task, say.text));
  return true;
}

bool Turns::act(const LivePtr& live, Task* task, const llm::Artifact& artifact) {
  const std::string id = artifact.id.empty() ? artifact.name : artifact.id;
  Json out = {{"artifactId", id}, {"name", artifact.name}};
  if (!artifact.description.empty()) out["description"] = artifact.description;
  out["parts"] = artifact.parts;
  const bool there = live->left_over.erase(id) == 0 && has_artifact(*task, id);
  tasks_.put_artifact(*task, out, artifact.append && there, artifact.append && !artifact.last_chunk);
  return true;
}

bool Turns::act(const LivePtr& live, Task*, const llm::Chunks& chunks) {
  live->pieces = llm::pieces(chunks);
  live->next_piece = 0;
  put_chunk(live, chunks);
  return false;
}

bool Turns::act(const LivePtr& live, Task*, const llm::Delay& delay) { return go_on_after(live, delay.ms); }

bool Turns::act(const LivePtr& live, Task* task, const llm::SetState& state) {
  end(live, to_task_state(state.state), state.message.empty() ? Json() : agent_message(*task, state.message));
  return false;
}

bool Turns::act(const LivePtr& live, Task* task, const llm::DirectMessage& message) {
  say_directly(live, task, message);
  return false;
}

bool Turns::act(const LivePtr& live, Task* task, const llm::RunWorkflow& run) {
  if (const Status right = runs_.check(run.name, run.inputs, "workflow", "workflow.inputs"); !right) {
    end(live, a2a::TaskState::kFailed, agent_message(*task, right.error().message));
    return false;
  }
  leave(*live);
  runs_.start({.workflow = run.name,
               .inputs = run.inputs,
               .start = "message",
               .principal = live->turn.principal,
               .task = live->task});
  return false;
}

bool Turns::act(const LivePtr& live, Task*, const llm::UseTool& tool) {
  instance_.count([](Counters& c) { ++c.tool_calls; });
  set_phase(*live, "tool", tool.name);
  return go_on_after(live, tool.delay_ms);
}

void Turns::say_directly(const LivePtr& live, const Task* task, const llm::DirectMessage& message) {
  if (task != nullptr) {
    Json out = agent_message(*task, "");
    out["parts"] = message.parts;
    return end(live, a2a::TaskState::kCompleted, std::move(out));
  }
  Json out = {{"messageId", random_uuid()},
              {"contextId", live->turn.context},
              {"role", "ROLE_AGENT"},
              {"parts", message.parts}};
  conversations_.add(conversations_.open(live->turn.principal, live->turn.context), out, false);
  leave(*live);
  live->said(std::move(out));
}

void Turns::put_chunk(const LivePtr& live, const llm::Chunks& chunks) {
  Task* task = tasks_.working(live->task);
  AGENTD_CHECK(task != nullptr, "a turn works on a task that has ended");
  const bool more = live->next_piece + 1 < live->pieces.size();
  tasks_.put_artifact(*task, text_artifact(chunks.artifact, live->pieces[live->next_piece]), live->next_piece > 0,
                      more);
  ++live->next_piece;
  live->timer.arm(more ? chunks.delay_ms : 0, [this, live, more] {
    if (more) return put_chunk(live, std::get<llm::Chunks>(live->turn.script.actions[live->next]));
    ++live->next;
    go_on(live);
  });
}

void Turns::end(const LivePtr& live, a2a::TaskState state, Json message) {
  Task* task = tasks_.working(live->task);
  AGENTD_CHECK(task != nullptr, "a turn works on a task that has ended");
  const bool refused =
      state == a2a::TaskState::kFailed || state == a2a::TaskState::kRejected || state == a2a::TaskState::kCanceled;
  if (!refused && !live->queued.empty()) return next_round(live);
  if (!message.is_null()) {
    conversations_.add(conversations_.open(live->turn.principal, live->turn.context), message, false);
    tasks_.add_message(*task, message);
  }
  leave(*live);
  tasks_.set_state(*task, state, std::move(message));
}

void Turns::next_round(const LivePtr& live) {
  const Json message = std::move(live->queued.front());
  live->queued.pop_front();
  const Conversation& conversation = conversations_.open(live->turn.principal, live->turn.context);
  live->turn = ask(conversation, message, turn_number(conversation, live->queued.size()));
  live->next = 0;
  ++live->activity.round;
  set_phase(*live, "thinking");
  live->timer.arm(0, [this, live] { go_on(live); });
}

void Turns::set_phase(Live& live, const std::string& phase, std::optional<std::string> tool) {
  if (live.activity.phase == phase && live.activity.tool == tool && live.pushed_round == live.activity.round) return;
  live.pushed_round = live.activity.round;
  live.activity.phase = phase;
  live.activity.tool = std::move(tool);
  live.activity.updated_ms = static_cast<feed::Count>(clock_.wall_ms());
  feed_.push(feed::Visibility::owner(live.turn.principal), live.activity);
}

// Off the feed and out of the tables; a timer that still holds it is cancelled.
void Turns::leave(Live& live) {
  live.timer.cancel();
  feed_.push(feed::Visibility::owner(live.turn.principal), feed::ActivityRemoved{live.activity.id});
  by_task_.erase(live.task);
  live_.erase(live.activity.id);
}

std::vector<std::pair<std::string, feed::Activity>> Turns::activities() const {
  std::vector<std::pair<std::string, feed::Activity>> out;
  for (const auto& [id, live] : live_) out.emplace_back(live->turn.principal, live->activity);
  return out;
}

}  // namespace agentd::runtime
