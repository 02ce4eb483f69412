#include "http/deadlines.h"

#include <algorithm>

namespace agentd::http {

Deadline::~Deadline() { all_.unqueue(*this); }

void Deadline::set(std::int64_t after_ms) {
  const std::int64_t tick = std::max<std::int64_t>(1, after_ms / 16);
  due_ = (all_.clock_.mono_ms() + after_ms + tick - 1) / tick * tick;
  if (due_ < queued_) all_.queue(*this, due_);
}

void Deadlines::queue(Deadline& deadline, std::int64_t at) {
  unqueue(deadline);
  deadline.queued_ = at;
  queue_.emplace(at, &deadline);
  if (at < armed_for_) arm();
}

void Deadlines::unqueue(Deadline& deadline) {
  if (deadline.queued_ == Deadline::kNever) return;
  queue_.erase({deadline.queued_, &deadline});
  deadline.queued_ = Deadline::kNever;
}

void Deadlines::arm() {
  armed_for_ = queue_.begin()->first;
  timer_.arm(armed_for_ - clock_.mono_ms(), [this] { expire(); });
}

void Deadlines::expire() {
  armed_for_ = Deadline::kNever;
  const std::int64_t now = clock_.mono_ms();
  // A callback may set, clear and destroy any deadline, so begin() is looked up afresh. It ends: whatever is
  // queued again is queued for later than now.
  while (!queue_.empty() && queue_.begin()->first <= now) {
    Deadline& deadline = *queue_.begin()->second;
    unqueue(deadline);
    if (deadline.due_ > now) {
      if (deadline.due_ != Deadline::kNever) queue(deadline, deadline.due_);
      continue;
    }
    deadline.due_ = Deadline::kNever;
    deadline.missed_();
  }
  if (!queue_.empty() && armed_for_ == Deadline::kNever) arm();
}

}  // namespace agentd::http
