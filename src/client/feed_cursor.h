// FeedCursor: what a follower of the feed knows about its place in it. Frames and comments go in; out come
// what each means and the cursor to resume with. No I/O (events.md sections 4, 5 and 8).
//
//   connect() -> hello -> event* (with comments between) -> goodbye, or a cut at any point -> connect() ...
//
// Two numbers. `cursor` is what the next request asks with. `floor` is the last event taken: an event at or
// below it is a repeat and not shown again. They differ only after a resync, until the first event or
// bookmark: the replay that follows may begin below the old cursor (floor 0), but a cut before its first
// event must resume from the hello's seq, where the state was read again. Asking with 0 there would hide what
// the ring evicts in between. Gaps between events are no loss: they are events that this caller may not see.
// Confined to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace agentd::client {

class FeedCursor final {
 public:
  enum class Meaning : std::uint8_t {
    kHello,     // the stream goes on where the cursor was
    kResync,    // a hello, and events were lost: read the state again
    kEvent,     // new: show it
    kRepeat,    // taken before: drop it
    kDeadline,  // a goodbye: connect again
    kRevoked,   // a goodbye: the session is over
  };

  explicit FeedCursor(std::uint64_t from = 0) : cursor_(from), floor_(from) {}

  // A new stream begins, asked for with cursor().
  void connect();
  // Error kParse: the frame breaks the protocol (no hello first, two of them, anything after a goodbye, not a
  // frame); the stream is to be given up like a cut one.
  [[nodiscard]] Result<Meaning> take_frame(const Json& frame);
  // A bookmark (": 123") moves the cursor; any other comment is nothing.
  void take_comment(std::string_view comment);

  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }

 private:
  enum class Phase : std::uint8_t { kBeforeHello, kOpen, kOver };
  [[nodiscard]] Result<Meaning> take_hello(const Json& hello);
  [[nodiscard]] Result<Meaning> take_event(const Json& event);
  [[nodiscard]] Result<Meaning> take_goodbye(const Json& goodbye);
  void advance(std::uint64_t seq) { cursor_ = floor_ = seq; }

  std::uint64_t cursor_;
  std::uint64_t floor_;
  Phase phase_ = Phase::kBeforeHello;
};

}  // namespace agentd::client
