// Stream: the sending side of one event stream, without its socket: what to send next, and what of it was
// taken.
//
// Edge-confined. Nothing is queued: each turn looks at the source anew. The invariant: the bytes given to the
// kernel so far are whole events, and the first `sent` bytes of the current one. Only that one is held. Calls
// the source's closed() when destroyed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "http/gather.h"
#include "http/server.h"

namespace agentd::http {

class Stream final {
 public:
  Stream(std::shared_ptr<StreamSource> source, StreamLimits limits, Chunked chunked);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Adds the rest of the current event and what the source has, whose events it appends to `peeked`. Returns whether
  // there may be more than was added.
  bool gather(Gather& out, std::vector<StreamEvent>& peeked);
  // The kernel took the first `bytes` of what gather() added; `peeked` are the events that it appended. Returns how
  // many of them that consumed.
  std::size_t taken(std::size_t bytes, std::span<StreamEvent> peeked);

  // Whether an event has begun whose rest the kernel has not taken.
  [[nodiscard]] bool in_event() const { return current_ != nullptr; }
  [[nodiscard]] StreamSource& source() { return *source_; }
  [[nodiscard]] const StreamLimits& limits() const { return limits_; }
  [[nodiscard]] Chunked chunked() const { return chunked_; }

 private:
  struct Current {
    StreamEvent event;
    std::size_t sent = 0;
  };

  std::shared_ptr<StreamSource> source_;
  StreamLimits limits_;
  Chunked chunked_;
  std::unique_ptr<Current> current_;  // of a stream that lags; idle ones do without its room
};

}  // namespace agentd::http
