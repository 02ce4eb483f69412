// Turns: a message to the agent, from what the model makes of it to the task's state (runtime.md).
//
// A turn is answered by a script or by a chat with a model (runtime/script_turn.h, runtime/chat_turn.h), and has one activity on the feed while it
// works. Messages that come meanwhile are its next rounds. Turns that a crash cut off go on.
// Confined to the core thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "llm/remote.h"
#include "llm/scripted.h"
#include "runtime/chat_turn.h"
#include "runtime/script_turn.h"
#include "runtime/turn.h"

namespace agentd::runtime {

// What answers: rules, or a chat model.
using Mind = std::variant<llm::ScriptedModel, std::shared_ptr<llm::RemoteModel>>;

// A turn that has begun: its message is part of the conversation.
struct Turn {
  std::string principal, context;
  std::optional<llm::Script> script;  // nothing: a chat
  [[nodiscard]] bool is_direct() const { return script && script->direct_message; }
};

class Turns final {
 public:
  Turns(TurnParts parts, ChatParts chat, Mind mind);

  // Turns at work go on with the one that they have.
  void set_mind(Mind mind) { mind_ = std::move(mind); }

  [[nodiscard]] Turn begin(Conversation& conversation, const Json& message);
  // Works on the task until it is settled. A direct turn's message is the task's last word.
  void work(Turn turn, Task& task);
  // Answers with a Message, without a task; for direct turns.
  void speak(Turn turn, ScriptTurn::Said said);
  // One more message for a turn at work; not for one that is full.
  void queue(Task& task, const Json& message);
  [[nodiscard]] bool is_full(const Task& task) const;
  // The answer to the task's open gate, read from the message.
  void answer(Task& task, const std::string& by, const Json& message, const Json& answer);
  void cancel(Task& task);
  // Called with a task that is cancelled, for what works for it elsewhere.
  void on_cancelled(std::function<void(const std::string& task)> cancelled) { cancelled_ = std::move(cancelled); }
  // Goes on with what an earlier life left.
  void resume(Task& task);
  // Stops what is at work, to be resumed by the next life.
  void stop();
  // Goes on with what was held back while the instance was paused.
  void go_on();

  // Null while rules answer.
  [[nodiscard]] std::shared_ptr<llm::RemoteModel> chat_model() const;
  // Whether a turn of that conversation is at work, or waits for somebody.
  [[nodiscard]] bool is_in(const Conversation& conversation) const;
  // Those at work; what waits for a person, or is held back by a pause, is not.
  [[nodiscard]] std::size_t live() const;
  [[nodiscard]] std::vector<std::pair<std::string, feed::Activity>> activities() const;  // with their owners

 private:
  using Live = std::shared_ptr<TurnAtWork>;
  [[nodiscard]] llm::Script script_of(const Json& message, std::uint64_t number) const;
  [[nodiscard]] std::shared_ptr<ScriptTurn> make_script(Turn turn, const std::string& task, ScriptTurn::Said said);
  [[nodiscard]] Live make_chat(const std::string& principal, const std::string& context, const std::string& task);
  void start(const Live& live);
  void left(const TurnAtWork& turn);
  void resume_script(Task& task);
  [[nodiscard]] Live of(const Task& task) const;  // null when none works on it

  const TurnParts parts_;
  const ChatParts chat_;
  Mind mind_;
  std::function<void(const std::string&)> cancelled_ = [](const std::string&) {};
  std::unordered_map<std::string, Live> live_;            // by activity
  std::unordered_map<std::string, std::string> by_task_;  // task -> activity
};

}  // namespace agentd::runtime
