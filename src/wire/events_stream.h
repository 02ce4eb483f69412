// EventsStream: one subscriber of the feed as an SSE stream (events.md sections 4 to 8).
//
//   hello -> events past the cursor, replayed then live -> goodbye
//
// It keeps a cursor and no queue. When the ring has gone past the cursor, the connection is cut without a word and the reader,
// resuming, is told `resync`.
// Confined to one edge thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "feed/feed.h"
#include "http/server.h"
#include "net/loop.h"
#include "wire/sse.h"

namespace agentd::wire {

struct EventsOptions {
  std::int64_t deadline_ms = 600'000;  // shortened by up to a tenth at random
  bool ids = false;                    // `id: <seq>` before each frame (GET /events)
  bool follow = true;                  // false: end after the replay
};

class EventsStream final : public http::StreamSource {
 public:
  // `gone` is called once, when the stream is over, and may destroy it.
  EventsStream(net::Loop& edge, const feed::Feed& feed, feed::Interest interest, std::uint64_t from_seq,
               SseFraming framing, EventsOptions options, std::function<void()> gone);

  void on_ready(std::function<void()> wake) { wake_ = std::move(wake); }
  void wake();  // there may be something new in the ring

  void peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) override;
  void consume(std::size_t count) override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] std::string keep_alive() override;
  void closed() override;

 private:
  enum class Phase : std::uint8_t { kHello, kEvents, kGoodbye, kDone, kCut };

  [[nodiscard]] http::StreamEvent own_frame(std::uint64_t id, std::string frame) const;
  [[nodiscard]] http::StreamEvent event_frame(const feed::FramePtr& frame) const;
  void end(const char* reason);

  const feed::Interest interest_;
  const SseFraming framing_;
  const EventsOptions options_;
  feed::Subscription subscription_;
  std::function<void()> gone_;
  std::function<void()> wake_;
  net::Timer deadline_;
  Phase phase_ = Phase::kHello;
  const char* reason_ = "";
  std::vector<std::uint64_t> peeked_;  // where the cursor stands once that many events of the last peek are sent
};

}  // namespace agentd::wire
