#include "runtime/turn.h"

#include <utility>

#include "base/check.h"
#include "base/ids.h"

namespace agentd::runtime {

TurnAtWork::TurnAtWork(const TurnParts& parts, TurnFacts facts, std::function<void(TurnAtWork&)> left)
    : parts_(parts),
      facts_(std::move(facts)),
      left_(std::move(left)),
      activity_{.id = "act-" + random_hex(16),
                .task = facts_.task.empty() ? std::nullopt : std::optional(facts_.task),
                .ctx = facts_.context,
                .phase = "thinking",
                .round = 1,
                .started_ms = static_cast<feed::Count>(parts.clock.wall_ms())} {}

void TurnAtWork::unhold() {
  if (!std::exchange(held_, false)) return;
  set_phase("thinking");
  go_on();
}

bool TurnAtWork::hold() {
  held_ = parts_.instance.paused();
  if (held_) set_phase("waiting");
  return held_;
}

void TurnAtWork::leave() {
  stop();
  held_ = false;
  parts_.feed.push(feed::Visibility::owner(facts_.principal), feed::ActivityRemoved{activity_.id});
  left_(*this);
}

void TurnAtWork::end(a2a::TaskState state, Json message) {
  Task& ended = task();
  if (!message.is_null()) {
    parts_.conversations.add(conversation(), message, false);
    parts_.tasks.add_message(ended, message);
  }
  leave();
  parts_.tasks.set_state(ended, state, std::move(message));
}

void TurnAtWork::set_phase(const std::string& phase, std::optional<std::string> tool) {
  if (activity_.phase == phase && activity_.tool == tool && pushed_round_ == activity_.round) return;
  pushed_round_ = activity_.round;
  activity_.phase = phase;
  activity_.tool = std::move(tool);
  activity_.updated_ms = static_cast<feed::Count>(parts_.clock.wall_ms());
  parts_.feed.push(feed::Visibility::owner(facts_.principal), activity_);
}

Task& TurnAtWork::task() const {
  Task* task = parts_.tasks.working(facts_.task);
  AGENTD_CHECK(task != nullptr, "a turn works on a task that has ended");
  return *task;
}

Json text_artifact(const std::string& name, const std::string& text) {
  return {{"artifactId", name}, {"name", name}, {"parts", {{{"text", text}}}}};
}

}  // namespace agentd::runtime
