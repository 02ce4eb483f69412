// TaskStream: one SSE stream of one task, from the core thread that makes its events to the edge that writes them.
//
// The core calls on_event; the event is handed to the edge's loop, where it waits for the socket in a queue bounded to 8 MiB.
// A reader that falls behind further is cut; it subscribes again and starts with the task as it is then.
// on_event: core thread. Everything else: edge thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "net/loop.h"
#include "runtime/tasks.h"
#include "wire/sse.h"

namespace agentd::wire {

class TaskStream final : public runtime::TaskListener,
                         public http::StreamSource,
                         public std::enable_shared_from_this<TaskStream> {
 public:
  // `start` opens the response when the first event is there (until then the request may still be refused) and returns the
  // connection's "there may be something new"; nothing when the peer has gone.
  using Start = std::function<std::function<void()>(std::shared_ptr<TaskStream>)>;
  // `revoked`: null or, once true, the end: it is cut.
  TaskStream(net::Loop& edge, SseFraming framing, std::shared_ptr<const std::atomic<bool>> revoked, Start start);

  // Ends it if it is revoked.
  void check_revoked();

  void on_event(std::shared_ptr<const runtime::TaskEvent> event) override;

  bool peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) override;
  void consume(std::size_t count) override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] std::string keep_alive() override { return ": \n\n"; }
  void closed() override;

 private:
  struct Waiting {
    std::shared_ptr<const runtime::TaskEvent> event;
    std::string id;  // its line
  };

  [[nodiscard]] bool is_revoked() const { return revoked_ && revoked_->load(std::memory_order_acquire); }
  void enqueue(std::shared_ptr<const runtime::TaskEvent> event);

  net::Loop& edge_;
  const SseFraming framing_;
  const std::shared_ptr<const std::atomic<bool>> revoked_;
  Start start_;
  std::function<void()> wake_;
  std::deque<std::shared_ptr<const Waiting>> queue_;
  std::size_t queued_bytes_ = 0;
  bool ended_ = false;  // the last event is in the queue
  bool cut_ = false;
};

}  // namespace agentd::wire
