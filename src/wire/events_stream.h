// EventsStream: one subscriber of the feed as an SSE stream (events.md sections 4 to 8).
//
//   hello -> events past the cursor, replayed then live -> goodbye
//
// It keeps a cursor and no queue. When the ring has gone past the cursor, the connection is cut without a word and the reader,
// resuming, is told `resync`. When its viewer may no longer read, goodbye is the next thing that is sent, or the connection
// is cut where that cannot be sent at once.
// Confined to one edge thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/quota.h"
#include "feed/feed.h"
#include "feed/readers.h"
#include "http/deadlines.h"
#include "http/server.h"
#include "wire/sse.h"

namespace agentd::wire {

struct EventsOptions {
  std::int64_t deadline_ms = 600'000;  // at most; each stream's own is up to a tenth shorter
  bool ids = false;                    // `id: <seq>` before each frame (GET /events)
  bool follow = true;                  // false: end after the replay
};

class EventsStream final : public http::StreamSource, private feed::Reader {
 public:
  // `place` is kept until the stream is over.
  EventsStream(http::Deadlines& deadlines, const feed::Feed& feed, feed::Readers& readers, feed::Interest interest,
               std::uint64_t from_seq, SseFraming framing, EventsOptions options, Quota::Place place);

  void on_ready(std::function<void()> wake) { wake_ = std::move(wake); }

  bool peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) override;
  void consume(std::size_t count) override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] std::string keep_alive() override;
  void closed() override;

 private:
  enum class Phase : std::uint8_t { kHello, kEvents, kGoodbye, kDone, kCut };

  void woken(std::uint64_t accounted) override;
  [[nodiscard]] bool is_revoked() const override { return subscription_.revoked(); }
  void wake();
  void catch_up();
  void rest();
  void peek_events(std::vector<http::StreamEvent>& out, std::size_t max_bytes);
  void peek_own(std::vector<http::StreamEvent>& out, std::string frame);
  [[nodiscard]] http::StreamEvent event_frame(const feed::FramePtr& frame) const;
  void end(const char* reason);

  const feed::Readers& readers_;
  const SseFraming framing_;
  const EventsOptions options_;
  feed::Subscription subscription_;
  Quota::Place place_;
  std::function<void()> wake_;
  http::Deadline deadline_;
  Phase phase_ = Phase::kHello;
  const char* reason_ = "";
  bool more_ = false;     // the last peek did not reach the end of the ring
  bool resting_ = false;  // all that is visible was read: the cursor is that of the readers, until one is woken
  std::vector<std::uint64_t> peeked_;  // where the cursor stands once that many events of the last peek are sent
};

}  // namespace agentd::wire
