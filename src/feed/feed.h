// Feed: the one ordered, bounded, numbered record of what happens in the instance (events.md).
//
//            push (core thread)                       Subscription::peek (edge threads)
//                 |                                        |
//    +---+---+---+v--+                                     | cursor: one number, no queue
//    | 7 | 8 | 9 | 10|  ring of immutable frames <---------+
//    +---+---+---+---+  evicted at the left by count and by bytes
//
// An event's JSON is written once, here, at push; everybody who is sent it is sent those bytes. Numbers are
// never used twice, not even across restarts: they are reserved durably before use, in blocks of a second of the
// clock. A life that follows a kill begins past the reserved block, so by so much at most it is ahead of the clock,
// which alone keeps numbers apart when the store is lost.
//
// Thread-safe: push, on_push and set_introspection are for the core thread alone, everything else for any
// thread; one mutex guards the ring and is held for copying pointers, never while JSON is written or a socket
// is touched. Push cost: one serialisation, one lock, one call of the wake-up. When a reservation fails, the
// feed goes on and logs it: the clock in first_seq() still keeps the next life clear of this one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "feed/frame.h"
#include "feed/kind_table.h"
#include "feed/kinds.h"
#include "feed/payload_json.h"
#include "feed/payloads.h"
#include "feed/ring.h"
#include "feed/visibility.h"

namespace agentd::feed {

struct Options {
  std::size_t ring_events = 1024;
  std::size_t ring_bytes = 64U << 20U;
  bool introspection = false;  // at the start
  std::string version = {};
  std::uint64_t block = 65'536;  // numbers reserved at a time
};

// Makes it durable that every number up to and including `end` may have been used. Called on the core thread,
// once in a block of pushes, and returns when it is done.
using ReserveBlock = std::function<agentd::Status(std::uint64_t end)>;

// The first number of a life (events.md section 5.1): past the last reserved block, and past what any earlier
// life can have reached by the clock.
[[nodiscard]] std::uint64_t first_seq(std::uint64_t reserved_end, std::int64_t wall_ms);

// Whom the events past some number concern. Operators are concerned by all of them.
struct News {
  std::uint64_t through = 0;          // the newest number
  bool for_everybody = false;         // or it is no longer known for whom
  std::vector<OwnerTag> owners = {};  // each once
};

class Feed {
 public:
  // Reserves the first block. `clock` outlives the feed.
  Feed(Options options, std::uint64_t first, ReserveBlock reserve, const Clock& clock);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Numbers the payload (any type of payloads.h) and publishes it. Returns its number. `visibility` must lie
  // within the kind's audience. Debug builds abort when the payload misses its kind's schema. An Audit is
  // dropped while introspection is off, and the newest number is returned.
  template <Payload P>
  std::uint64_t push(const Visibility& visibility, const P& payload) {
    constexpr Kind kKind = *kKindCarrying<P>;
    if (kKind == Kind::kAudit && !introspection()) return next_ - 1;
    begin(kKind);
    Cut cut;
    if constexpr (std::is_same_v<P, Task>) {
      cut = append_data(scratch_, payload);
    } else {
      append_data(scratch_, payload);
    }
    return publish(kKind, visibility, cut);
  }

  // Called on the core thread after a push; must only mark and wake.
  void on_push(std::function<void()> wake) { wake_ = std::move(wake); }
  // Whether audit events are pushed, and those in the ring are replayed.
  void set_introspection(bool on);
  [[nodiscard]] bool introspection() const;

  [[nodiscard]] Window window() const;
  // Replaces `out` by what has come past `seq`, which is at most the newest number. Cost: that of its events.
  void news_since(std::uint64_t seq, News& out) const;
  [[nodiscard]] std::uint64_t evicted() const;                       // events that have left the ring, for metrics
  [[nodiscard]] const Options& options() const { return options_; }  // as they were given

 private:
  friend class Subscription;

  void begin(Kind kind);
  std::uint64_t publish(Kind kind, const Visibility& visibility, Cut cut);
  void reserve_if_due();

  const Options options_;
  const ReserveBlock reserve_;
  const Clock& clock_;

  // Core thread only.
  std::uint64_t next_;          // the number of the next event
  std::uint64_t reserve_at_;    // the number before whose use a block is to be reserved
  std::string scratch_;         // the frame being written
  std::size_t data_begin_ = 0;  // where its `data` starts
  std::function<void()> wake_;

  mutable Mutex mutex_;
  Ring ring_ AGENTD_GUARDED_BY(mutex_);
  bool introspection_ AGENTD_GUARDED_BY(mutex_);
};

// What one subscriber asked for.
struct Interest {
  Viewer viewer;
  bool annotations = false;
  KindSet kinds = KindSet::all();
  // Becomes true, before the next push, when the viewer may no longer read (events.md section 8). None: never.
  std::shared_ptr<const std::atomic<bool>> revoked = nullptr;
};

// One reader of the feed: a cursor, and the rules for what may be read past it. Confined to one edge thread;
// the feed outlives it. Cost: peek compares two integers per event that is not for this reader.
class Subscription {
 public:
  struct Batch {
    std::vector<FramePtr> frames;  // visible, in order
    std::uint64_t through = 0;     // once all frames are sent, everything up to here is accounted for
    bool more = false;             // there is more past `through`
    bool lagged = false;           // the ring has evicted past the cursor: end the stream, say nothing
    bool revoked = false;          // nothing more may be read: end the stream, say goodbye
  };

  Subscription(const Feed& feed, Interest interest, std::uint64_t from_seq);

  // The first frame. `resync` as events.md section 5 decides it, at the moment of construction.
  [[nodiscard]] std::string hello() const;
  // What could be sent next, up to about `max_bytes` and at least one frame if there is one. Changes nothing.
  // No frames means that nothing more is visible now; advance to `through` even so.
  [[nodiscard]] Batch peek(std::size_t max_bytes) const;
  // Everything up to `seq` has been handed to the kernel or passed over.
  void advance(std::uint64_t seq);
  [[nodiscard]] std::uint64_t cursor() const { return cursor_; }
  // The last frame; `reason` is "deadline" or "revoked".
  [[nodiscard]] std::string goodbye(std::string_view reason) const;

  [[nodiscard]] const Interest& interest() const { return interest_; }
  [[nodiscard]] bool revoked() const { return interest_.revoked && interest_.revoked->load(); }

 private:
  [[nodiscard]] bool admits(const Ring::Slot& slot, bool introspection) const;

  const Feed& feed_;
  const Interest interest_;
  const OwnerTag tag_;
  std::uint64_t cursor_ = 0;
  // What hello says. It is written when it is sent: ten thousand that are idle need not keep its text.
  const std::uint64_t asked_;
  std::uint64_t newest_ = 0;
  bool resync_ = false;
  bool introspection_ = false;
};

}  // namespace agentd::feed
