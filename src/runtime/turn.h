// TurnAtWork: what every turn has, whatever answers it: its task, its activity on the feed, its end. A script or a chat with a model
// answers (runtime/script_turn.h, runtime/chat_turn.h). Confined to the core thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "feed/feed.h"
#include "net/loop.h"
#include "runtime/conversations.h"
#include "runtime/instance.h"
#include "runtime/journal.h"
#include "runtime/runs.h"
#include "runtime/tasks.h"

namespace agentd::runtime {

// What turns read and change; all of it outlives them.
struct TurnParts {
  net::Loop& loop;
  feed::Feed& feed;
  const Clock& clock;
  Journal& journal;
  Tasks& tasks;
  Conversations& conversations;
  Runs& runs;
  Instance& instance;
};

struct TurnFacts {
  std::string principal, context;
  std::string task;  // "" for one that only speaks
};

class TurnAtWork : public std::enable_shared_from_this<TurnAtWork> {
 public:
  // `left` is called when it is over; it may let go of the turn, but not destroy it within the call.
  TurnAtWork(const TurnParts& parts, TurnFacts facts, std::function<void(TurnAtWork&)> left);
  virtual ~TurnAtWork() = default;
  TurnAtWork(const TurnAtWork&) = delete;
  TurnAtWork& operator=(const TurnAtWork&) = delete;

  virtual void begin() = 0;
  // One more message for it, which is in the conversation as number `number`.
  virtual void hear(const Json& message, std::uint64_t number) = 0;
  [[nodiscard]] virtual std::size_t unheard() const = 0;  // messages that wait for its next round
  // Its task's gate was answered. Only of turns that open gates.
  virtual void answered(const Json& answer) = 0;
  [[nodiscard]] virtual bool waits_for_answer() const = 0;

  // Goes on if a pause of the instance held it back.
  void unhold();
  [[nodiscard]] bool is_held() const { return held_; }
  // Off the feed, and nothing of it goes on. The task stays as it is.
  void leave();

  [[nodiscard]] const TurnFacts& facts() const { return facts_; }
  [[nodiscard]] const feed::Activity& activity() const { return activity_; }

 protected:
  // Performs what is next, until something takes time.
  virtual void go_on() = 0;
  // Nothing calls back any more.
  virtual void stop() = 0;

  // Whether the instance is paused, in which case go_on() comes later.
  [[nodiscard]] bool hold();
  // Nothing calls back any more, and it is told once: the task's state and the agent's last word, which may be null.
  void end(a2a::TaskState state, Json message);
  void set_phase(const std::string& phase, std::optional<std::string> tool = {});
  feed::Activity& edit_activity() { return activity_; }
  // The task, which has not ended: what ends a task ends its turn first.
  [[nodiscard]] Task& task() const;
  [[nodiscard]] Conversation& conversation() const {
    return parts_.conversations.open(facts_.principal, facts_.context);
  }

  const TurnParts& parts_;

 private:
  const TurnFacts facts_;
  const std::function<void(TurnAtWork&)> left_;
  feed::Activity activity_;
  feed::Count pushed_round_ = 0;
  bool held_ = false;
};

// One text as an artifact whose id is its name.
[[nodiscard]] Json text_artifact(const std::string& name, const std::string& text);

}  // namespace agentd::runtime
