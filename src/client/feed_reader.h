// FeedReader: follows the feed of one daemon for ever, over cuts, deadlines and restarts.
//
//   connect -> read until the stream ends -> goodbye{deadline}: connect again at once
//                                         -> cut, silence of 2.5 keep-alives, 429, 5xx: back off, connect
//                                         again
//                                         -> goodbye{revoked}, 401, 403, any other refusal: return
//
// An end without goodbye is a cut, also when the body ended cleanly. Each event is delivered once and in
// order (feed_cursor.h); what was lost is never passed over in silence: `resync` is called instead. The
// back-off starts anew after a stream that lasted 5 s. Retry-After is honoured, up to 5 minutes. run() holds
// its thread, and calls the sink on it. Cost: one connection and at most one event of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/clock.h"
#include "client/feed_cursor.h"
#include "client/rpc.h"

namespace agentd::client {

struct FeedOptions {
  std::uint64_t from = 0;
  std::vector<std::string_view> extensions = {};  // besides the events extension
  bool patient = false;                           // wait also for a daemon that was never reached
  std::int64_t silence_ms = 37'500;
};

struct FeedSink {
  std::function<void(const Json& frame)> frame;  // each hello, each new event, each goodbye
  std::function<void()> resync;                  // after the hello's frame: events were lost, read the state again
  std::function<void(std::string_view why, std::int64_t delay_ms)> retry;  // before a wait
};

// What tests replace.
struct FeedSeams {
  Random random = system_random;
  std::function<void(std::int64_t ms)> pause = {};  // empty: waits on the stop
};

enum class FeedEnd : std::uint8_t { kStopped, kRevoked };

class FeedReader final {
 public:
  FeedReader(const Rpc& rpc, const Stop& stop, const Clock& clock, FeedOptions options, FeedSink sink,
             FeedSeams seams = {});

  // Until the stop, a revocation or a refusal (the error). An unreachable daemon is an error only at first.
  [[nodiscard]] Result<FeedEnd> run();
  [[nodiscard]] std::uint64_t cursor() const { return cursor_.cursor(); }

 private:
  enum class Next : std::uint8_t { kStop, kRevoked, kAtOnce, kRetry, kGiveUp };
  struct Attempt {
    Next next = Next::kRetry;
    Error error;  // why, for kRetry and kGiveUp
  };
  [[nodiscard]] Attempt attempt();
  [[nodiscard]] bool take_frame(const Json& frame, Attempt& outcome);
  [[nodiscard]] Attempt judge(const Error& error) const;
  void back_off(const Error& error);

  const Rpc& rpc_;
  const Stop& stop_;
  const Clock& clock_;
  FeedOptions options_;
  FeedSink sink_;
  FeedSeams seams_;
  FeedCursor cursor_;
  Backoff backoff_;
  bool reached_ = false;        // some hello has come
  std::int64_t hello_ms_ = -1;  // when this stream's came; -1 = not yet
};

}  // namespace agentd::client
