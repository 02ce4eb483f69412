// Turns: a message to the agent, from the model's answer to the task's state (runtime.md).
//
// A turn works through the script that the model gave for its message, action by action, on the core's timers, and has one
// activity on the feed while it works. Messages that come meanwhile are queued and are the turn's next rounds.
// A turn that a crash cut off is done again from its message: its artifacts keep their ids and are replaced.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "feed/feed.h"
#include "llm/scripted.h"
#include "net/loop.h"
#include "runtime/conversations.h"
#include "runtime/instance.h"
#include "runtime/runs.h"
#include "runtime/tasks.h"

namespace agentd::runtime {

// A turn that has begun: its message is part of the conversation, and the model has answered.
struct Turn {
  std::string principal, context;
  llm::Script script;
  [[nodiscard]] bool is_direct() const { return script.direct_message; }
};

class Turns final {
 public:
  Turns(net::Loop& loop, feed::Feed& feed, const Clock& clock, Tasks& tasks, Conversations& conversations, Runs& runs,
        Instance& instance, llm::ScriptedModel model);
  ~Turns();

  // Turns at work go on with the answer that they have.
  void set_model(llm::ScriptedModel model) { model_ = std::move(model); }

  [[nodiscard]] Turn begin(Conversation& conversation, const Json& message);
  // Works on the task until it is settled. A direct turn's message is the task's last word.
  void work(Turn turn, Task& task);
  // Answers with a Message, without a task; for direct turns.
  void speak(Turn turn, std::move_only_function<void(Json message)> said);
  // One more message for a turn at work; not for one that is full.
  void queue(Task& task, const Json& message);
  [[nodiscard]] bool is_full(const Task& task) const;
  void cancel(Task& task);
  // Goes on with what an earlier life left.
  void resume(Task& task);
  // Goes on with what was held back while the instance was paused.
  void go_on();

  [[nodiscard]] std::size_t live() const { return live_.size(); }
  [[nodiscard]] std::vector<std::pair<std::string, feed::Activity>> activities() const;  // with their owners

 private:
  struct Live;
  using LivePtr = std::shared_ptr<Live>;
  [[nodiscard]] Turn ask(const Conversation& conversation, const Json& message, std::uint64_t number);
  LivePtr start(Turn turn, const std::string& task);
  void go_on(const LivePtr& live);
  bool perform(const LivePtr& live, const llm::Action& action);
  bool act(const LivePtr& live, Task* task, const llm::Text& text);
  bool act(const LivePtr& live, Task* task, const llm::Say& say);
  bool act(const LivePtr& live, Task* task, const llm::Artifact& artifact);
  bool act(const LivePtr& live, Task* task, const llm::Chunks& chunks);
  bool act(const LivePtr& live, Task* task, const llm::Delay& delay);
  bool act(const LivePtr& live, Task* task, const llm::SetState& state);
  bool act(const LivePtr& live, Task* task, const llm::DirectMessage& message);
  bool act(const LivePtr& live, Task* task, const llm::RunWorkflow& run);
  bool act(const LivePtr& live, Task* task, const llm::UseTool& tool);
  bool go_on_after(const LivePtr& live, std::int64_t ms);  // false
  void say_directly(const LivePtr& live, const Task* task, const llm::DirectMessage& message);
  void put_chunk(const LivePtr& live, const llm::Chunks& chunks);
  void end(const LivePtr& live, a2a::TaskState state, Json message);
  void next_round(const LivePtr& live);
  void set_phase(Live& live, const std::string& phase, std::optional<std::string> tool = {});
  void leave(Live& live);

  net::Loop& loop_;
  feed::Feed& feed_;
  const Clock& clock_;
  Tasks& tasks_;
  Conversations& conversations_;
  Runs& runs_;
  Instance& instance_;
  llm::ScriptedModel model_;
  std::unordered_map<std::string, std::shared_ptr<Live>> live_;  // by activity
  std::unordered_map<std::string, std::string> by_task_;         // task -> activity
};

}  // namespace agentd::runtime
