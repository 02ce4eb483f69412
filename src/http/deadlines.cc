#include "http/deadlines.h"

#include <algorithm>

namespace agentd::http {

void Deadline::set(std::int64_t after_ms) {
  const std::int64_t tick = std::max<std::int64_t>(1, after_ms / 16);
  due_ = (all_.now() + after_ms + tick - 1) / tick * tick;
  if (due_ < queued_) all_.queue(*this, due_);
}

void Deadlines::queue(Deadline& deadline, std::int64_t at) {
  deadline.unlink();
  deadline.queued_ = at;
  ticks_[at].push_back(deadline);
  if (at < armed_for_) arm();
}

void Deadlines::arm() {
  while (!ticks_.empty() && ticks_.begin()->second.empty()) ticks_.erase(ticks_.begin());
  if (ticks_.empty()) return;
  armed_for_ = ticks_.begin()->first;
  timer_.arm(armed_for_ - clock_.mono_ms(), [this] { expire(); });
}

void Deadlines::expire() {
  armed_for_ = Deadline::kNever;
  const std::int64_t now = clock_.mono_ms();
  // A callback may set, clear and destroy any deadline, so the first is looked up afresh. It ends: whatever is
  // queued again is queued for later than now.
  while (!ticks_.empty() && ticks_.begin()->first <= now) {
    Tick& tick = ticks_.begin()->second;
    if (tick.empty()) {
      ticks_.erase(ticks_.begin());
      continue;
    }
    Deadline& deadline = tick.front();
    deadline.unlink();
    deadline.queued_ = Deadline::kNever;
    if (deadline.due_ > now) {
      if (deadline.due_ != Deadline::kNever) queue(deadline, deadline.due_);
      continue;
    }
    deadline.due_ = Deadline::kNever;
    deadline.missed_();
  }
  if (armed_for_ == Deadline::kNever) arm();
}

}  // namespace agentd::http
