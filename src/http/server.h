// Server: HTTP/1.1 on the connections of one loop: strict parsing, keep-alive, answers, and event streams.
//
// Confined to its loop's thread (one edge). Bounds: header 32 KiB, 100 fields and 10 s to arrive; body 2 MiB;
// idle keep-alive 60 s; connections capped in all and per address (over the cap: 503 at once, or with TLS the end, and nobody else
// is closed for it). Smuggling shapes are 400 and close:
// Transfer-Encoding other than chunked, Content-Length beside it, two lengths, obs-fold, missing or doubled
// Host. One request of a connection is served at a time; pipelined ones wait in its buffer. A peer that
// closes, or half-closes, its side is gone. A TLS handshake has the time of a header. A server is not destroyed from inside one of its own callbacks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/quota.h"
#include "http/losses.h"
#include "http/message.h"
#include "net/loop.h"

namespace agentd::http {

// One server-sent event (or comment), ready for the wire: the bytes between chunk header and chunk end. The
// pieces stay valid as long as `owner` is held.
struct StreamEvent {
  std::shared_ptr<const void> owner;
  std::array<std::string_view, 4> pieces;
};

// What a stream sends is pulled from its source when the socket can take it; nothing is queued for it. The
// connection holds on to at most the one event it is in the middle of.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  // Appends what could be sent next, up to about `max_bytes` and at least one event if there is one. Consumes
  // nothing. Returns whether there may be more beyond that; of what comes later, the source says so.
  virtual bool peek(std::vector<StreamEvent>& out, std::size_t max_bytes) = 0;
  // The first `count` events of the last peek are with the kernel (or the last of them is being finished).
  virtual void consume(std::size_t count) = 0;
  enum class State : std::uint8_t {
    kOpen,
    kFinished,  // when peek has nothing more: send the final chunk, keep the connection
    kCut,       // close at once, without a final chunk: the reader has to notice
    kRevoked,   // what the kernel does not have yet may not be sent; what peek gives from now on may. Cut when
                // the reader would have to be sent the rest of an event first
  };
  [[nodiscard]] virtual State state() const = 0;
  // A comment for a stream that was silent for the keep-alive time (": 123\n\n"), or empty for none.
  [[nodiscard]] virtual std::string keep_alive() = 0;
  // The stream is over, whoever ended it. Called exactly once; the source may be destroyed after it.
  virtual void closed() = 0;
};

struct StreamLimits {
  std::int64_t keep_alive_ms = 15'000;     // of nothing written; more than 0
  std::int64_t write_timeout_ms = 30'000;  // without a byte taken while some are waiting: closed
};

// The answer to one request. Shared, because the answer may come later and the peer may be gone by then; then
// every call is a no-op, but that a source is told closed(). Dropped without an answer, it answers 500.
// Confined to the edge.
class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual const Request& request() const = 0;
  // Once, and not together with stream().
  virtual void respond(Response response) = 0;
  // Sends `head` (chunked), then pulls from `source` until it is finished or cut. The returned function says
  // "there may be something new"; call it on this loop as often as you like.
  virtual std::function<void()> stream(Response head, std::shared_ptr<StreamSource> source, StreamLimits limits) = 0;
  // Called when the peer has gone before the answer was given; at once if it has already.
  virtual void on_abandoned(std::function<void()> gone) = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // The header has arrived, the body has not: an answer here is given without reading the body, and closes. Asked first
  // of a body that is too large, too.
  virtual std::optional<Response> check_header(const Request& header) = 0;
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // How a request that could not be read is answered; the status stands.
  [[nodiscard]] virtual Response refusal(int status, std::string_view reason);
};

struct ServerLimits {
  std::size_t header_bytes = 32U << 10U;
  std::size_t header_fields = 100;
  std::size_t body_bytes = 2U << 20U;
  std::int64_t header_timeout_ms = 10'000;
  std::int64_t body_timeout_ms = 30'000;  // of a request's body; and of an answer without a byte taken
  std::int64_t idle_timeout_ms = 60'000;
  std::size_t connections = 20'000;
  std::size_t connections_per_source = 1'000;  // of an address that is not this machine's own
  bool io_uring = true;                        // streams are sent to with it, where the kernel allows it
};

class Server final {
 public:
  // `connections` and `losses` count those of all the servers that share them.
  Server(net::Loop& loop, const Clock& clock, Handler& handler, Quota& connections, Losses& losses,
         ServerLimits limits = {});
  ~Server();

  // Its connections are served here, or given to `accepted`.
  void serve(std::unique_ptr<net::Listener> listener, net::Accepted accepted = {});
  void adopt(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls = nullptr);  // one connection
  // Stops accepting, lets answers that are due be written, closes streams after their last whole event, then
  // calls `done`. What is not done after `grace_ms` is cut.
  void shut_down(std::int64_t grace_ms, std::function<void()> done);
  [[nodiscard]] std::size_t connections() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::http
