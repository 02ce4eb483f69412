// Deadlines: many deadlines on one Timer. Confined to its loop's thread.
//
// Moving a deadline later, which every write of a stream does, is a store: the set keeps the earlier time,
// and looks again when that has come. Moving one earlier or setting the first costs O(log n). A time is
// rounded up by up to 1/16 of its length to a shared tick, so that ten thousand streams with the same
// keep-alive wake the thread sixteen times in that time and not ten thousand. Never early.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "base/clock.h"
#include "net/loop.h"

namespace agentd::http {

class Deadlines;

// One deadline, of the owner of this. Outlived by its Deadlines; destruction cancels.
class Deadline final {
 public:
  Deadline(Deadlines& all, std::function<void()> missed) : all_(all), missed_(std::move(missed)) {}
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void set(std::int64_t after_ms);  // replaces; calls `missed` once, never inside set()
  void clear() { due_ = kNever; }

 private:
  friend class Deadlines;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  Deadlines& all_;
  std::function<void()> missed_;
  std::int64_t due_ = kNever;
  std::int64_t queued_ = kNever;  // when the set has it, which is never after due_
};

class Deadlines final {
 public:
  Deadlines(net::Loop& loop, const Clock& clock) : clock_(clock), timer_(loop) {}

 private:
  friend class Deadline;
  void queue(Deadline& deadline, std::int64_t at);
  void unqueue(Deadline& deadline);
  void arm();
  void expire();

  const Clock& clock_;
  net::Timer timer_;
  std::int64_t armed_for_ = Deadline::kNever;
  std::set<std::pair<std::int64_t, Deadline*>> queue_;
};

}  // namespace agentd::http
