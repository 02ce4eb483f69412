#include "runtime/turns.h"

#include <algorithm>
#include <utility>

#include "runtime/message_text.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kQueued = 64;  // messages for one turn

// The number of the turn that is not answered yet and has `after` more behind it. A conversation that the retention
// dropped meanwhile counts from its new beginning.
std::uint64_t turn_number(const Conversation& conversation, std::size_t after) {
  return conversation.turns > after ? conversation.turns - after : 1;
}

}  // namespace

Turns::Turns(TurnParts parts, ChatParts chat, Mind mind)
    : parts_(parts), chat_(std::move(chat)), mind_(std::move(mind)) {}

llm::Script Turns::script_of(const Json& message, std::uint64_t number) const {
  // A chat's place was taken by a script: built-in rules are better than none.
  static const auto built_in = llm::ScriptedModel::built_in();
  const auto* rules = std::get_if<llm::ScriptedModel>(&mind_);
  return (rules != nullptr ? *rules : built_in)
      .answer({.text = text_of(message), .message_id = message["messageId"], .turn = number});
}

Turn Turns::begin(Conversation& conversation, const Json& message) {
  parts_.conversations.add(conversation, message, true);
  parts_.instance.count([](Counters& c) { ++c.turns; });
  Turn turn{.principal = conversation.principal, .context = conversation.context, .script = {}};
  if (std::holds_alternative<llm::ScriptedModel>(mind_)) turn.script = script_of(message, conversation.turns);
  return turn;
}

std::shared_ptr<ScriptTurn> Turns::make_script(Turn turn, const std::string& task, ScriptTurn::Said said) {
  return std::make_shared<ScriptTurn>(
      parts_, TurnFacts{.principal = std::move(turn.principal), .context = std::move(turn.context), .task = task},
      *std::move(turn.script), [this](const Json& message, std::uint64_t number) { return script_of(message, number); },
      std::move(said), [this](const TurnAtWork& over) { left(over); });
}

Turns::Live Turns::make_chat(const std::string& principal, const std::string& context, const std::string& task) {
  return std::make_shared<ChatTurn>(parts_, chat_, TurnFacts{.principal = principal, .context = context, .task = task},
                                    std::get<std::shared_ptr<llm::RemoteModel>>(mind_),
                                    [this](const TurnAtWork& over) { left(over); });
}

void Turns::start(const Live& live) {
  live_.emplace(live->activity().id, live);
  if (!live->facts().task.empty()) by_task_[live->facts().task] = live->activity().id;
  live->begin();
}

// It calls us from within, so it goes when it has returned.
void Turns::left(const TurnAtWork& turn) {
  by_task_.erase(turn.facts().task);
  if (auto node = live_.extract(turn.activity().id)) parts_.loop.post([gone = std::move(node.mapped())] {});
}

void Turns::work(Turn turn, Task& task) {
  parts_.tasks.set_state(task, a2a::TaskState::kWorking);
  start(turn.script ? Live(make_script(std::move(turn), task.id, {}))
                    : make_chat(turn.principal, turn.context, task.id));
}

void Turns::speak(Turn turn, ScriptTurn::Said said) { start(make_script(std::move(turn), "", std::move(said))); }

Turns::Live Turns::of(const Task& task) const {
  const auto at = by_task_.find(task.id);
  return at == by_task_.end() ? nullptr : live_.at(at->second);
}

void Turns::queue(Task& task, const Json& message) {
  parts_.tasks.add_message(task, message);
  Conversation& conversation = parts_.conversations.open(task.principal, task.context);
  parts_.conversations.add(conversation, message, true);
  if (const Live live = of(task)) live->hear(message, conversation.messages);
}

bool Turns::is_full(const Task& task) const {
  const Live live = of(task);
  return live && live->unheard() >= kQueued;
}

void Turns::answer(Task& task, const std::string& by, const Json& message, const Json& answer) {
  parts_.tasks.add_message(task, message);
  Conversation& conversation = parts_.conversations.open(task.principal, task.context);
  parts_.tasks.close_gate(task, by);
  if (const Live live = of(task)) {
    parts_.conversations.add(conversation, message, false);
    return live->answered(answer);
  }
  // The model that asked was replaced by rules meanwhile: to them it is a message like any other.
  work(begin(conversation, message), task);
}

void Turns::cancel(Task& task) {
  if (const Live live = of(task)) live->leave();
  cancelled_(task.id);
  parts_.tasks.set_state(task, a2a::TaskState::kCanceled);
}

void Turns::resume(Task& task) {
  if (task.link.kind != "turn") return;
  const bool waits = a2a::is_interrupted(task.state);
  if (std::holds_alternative<llm::ScriptedModel>(mind_)) {
    if (!waits) resume_script(task);
    return;
  }
  if (waits && task.open_gate() == nullptr) return;
  if (!waits && task.state != a2a::TaskState::kWorking) parts_.tasks.set_state(task, a2a::TaskState::kWorking);
  start(make_chat(task.principal, task.context, task.id));
}

void Turns::resume_script(Task& task) {
  // The messages after the agent's last word are those that nobody has answered.
  std::size_t first = task.history.size();
  while (first > 0 && task.history[first - 1]["role"] == "ROLE_USER") --first;
  if (first == task.history.size()) return parts_.tasks.set_state(task, a2a::TaskState::kCompleted);
  const Conversation& conversation = parts_.conversations.open(task.principal, task.context);
  const Json& message = task.history[first];
  const auto live =
      make_script({.principal = conversation.principal,
                   .context = conversation.context,
                   .script = script_of(message, turn_number(conversation, task.history.size() - first - 1))},
                  task.id, {});
  if (task.state != a2a::TaskState::kWorking) parts_.tasks.set_state(task, a2a::TaskState::kWorking);
  live->replace(task.artifacts);
  for (std::size_t i = first + 1; i < task.history.size(); ++i) live->hear(task.history[i], 0);
  start(live);
}

void Turns::stop() {
  live_.clear();
  by_task_.clear();
}

void Turns::go_on() {
  std::vector<Live> all;
  for (const auto& [id, live] : live_) all.push_back(live);
  for (const Live& live : all) live->unhold();
}

std::shared_ptr<llm::RemoteModel> Turns::chat_model() const {
  const auto* model = std::get_if<std::shared_ptr<llm::RemoteModel>>(&mind_);
  return model == nullptr ? nullptr : *model;
}

bool Turns::is_in(const Conversation& conversation) const {
  return std::ranges::any_of(live_, [&](const auto& entry) {
    const TurnFacts& facts = entry.second->facts();
    return facts.context == conversation.context && facts.principal == conversation.principal;
  });
}

std::size_t Turns::live() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      live_, [](const auto& entry) { return !entry.second->waits_for_answer() && !entry.second->is_held(); }));
}

std::vector<std::pair<std::string, feed::Activity>> Turns::activities() const {
  std::vector<std::pair<std::string, feed::Activity>> out;
  for (const auto& [id, live] : live_) out.emplace_back(live->facts().principal, live->activity());
  return out;
}

}  // namespace agentd::runtime
