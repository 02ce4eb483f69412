// Ring: the newest frames, bounded in number and in bytes.
//
//    oldest                          newest
//    +------+------+------+------+------+
//    | slot | slot | slot | slot | slot |   slots_[i] holds the event numbered oldest + i
//    +------+------+------+------+------+
//
// Invariants: the numbers are consecutive; there are at most `max_events` slots, and more than one only while
// their cost is at most `max_bytes`, so the newest event is always there, however big. A reader that holds a
// FramePtr keeps that frame alone alive past its eviction.
//
// A pure data structure, not thread-safe: the Feed guards it. Finding a number is O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <ranges>

#include "feed/frame.h"

namespace agentd::feed {

// A principal boiled down to a number, so that a reader can pass over what is not its own for the price of
// comparing integers. Equal principals have equal tags; unequal ones nearly never do.
using OwnerTag = std::uint64_t;
inline constexpr OwnerTag kTagAll = 0;
inline constexpr OwnerTag kTagOperators = 1;
[[nodiscard]] OwnerTag owner_tag(std::string_view principal);  // at least 2
[[nodiscard]] OwnerTag tag_of(const Visibility& visibility);

class Ring {
 public:
  struct Slot {
    FramePtr frame;
    OwnerTag tag = kTagOperators;
    Kind kind{};
  };

  // `first` is the number that the first event will have. `max_events` is at least 1.
  Ring(std::size_t max_events, std::size_t max_bytes, std::uint64_t first);

  // The frame's number must be newest + 1.
  void push(FramePtr frame);

  [[nodiscard]] Window window() const { return {.oldest = next_ - slots_.size(), .newest = next_ - 1}; }
  // The slots of `seq` and of all that came after it; `seq` is in the window, or newest + 1.
  [[nodiscard]] auto from(std::uint64_t seq) const {
    const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(seq - window().oldest);
    return std::ranges::subrange(begin, slots_.end());
  }

  // What a frame counts against `max_bytes`.
  [[nodiscard]] static std::size_t cost(const Frame& frame) { return sizeof(Frame) + frame.text.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }  // events, since the start

 private:
  const std::size_t max_events_;
  const std::size_t max_bytes_;
  std::deque<Slot> slots_;
  std::uint64_t next_;
  std::size_t bytes_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace agentd::feed
