// Deadlines: many deadlines on one Timer. Confined to its loop's thread.
//
// A timing wheel: a time is rounded up by up to 1/16 of its length to a shared tick, and each tick has a list,
// so that ten thousand streams with the same keep-alive wake the thread sixteen times in that time and not ten
// thousand. Moving a deadline later, which every write of a stream does, is a store: it stays in the list of the
// earlier tick, and is looked at again when that has come. Moving one earlier or setting the first costs a
// lookup among the ticks. Never early but for the length of a turn, in which the clock is read once.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "base/clock.h"
#include "net/loop.h"

namespace agentd::http {

class Deadlines;

// One deadline, of the owner of this. Outlived by its Deadlines; destruction cancels.
class Deadline final
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  Deadline(Deadlines& all, std::function<void()> missed) : all_(all), missed_(std::move(missed)) {}
  ~Deadline() = default;
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
  std::int64_t queued_ = kNever;  // the tick in whose list it is, which is never after due_
};

class Deadlines final {
 public:
  Deadlines(net::Loop& loop, const Clock& clock) : clock_(clock), timer_(loop) {}

  // Between the two, the time is that of the first.
  void begin_turn() { turn_ms_ = clock_.mono_ms(); }
  void end_turn() { turn_ms_.reset(); }

 private:
  friend class Deadline;
  using Tick = boost::intrusive::list<Deadline, boost::intrusive::constant_time_size<false>>;

  void queue(Deadline& deadline, std::int64_t at);
  void arm();
  void expire();

  [[nodiscard]] std::int64_t now() const { return turn_ms_ ? *turn_ms_ : clock_.mono_ms(); }

  const Clock& clock_;
  std::optional<std::int64_t> turn_ms_;
  net::Timer timer_;
  std::int64_t armed_for_ = Deadline::kNever;
  std::map<std::int64_t, Tick> ticks_;
};

}  // namespace agentd::http
