// Connection: one socket of a server, from its first byte to its close. Edge-confined; owns the descriptor.
//
//            +------------------------------------------+
//            v                                          |
//        kReading --whole request--> kAnswering --answer+--> kLingering --> kClosed
//            ^                           | stream       |    (ours is sent; what the peer still
//            |                           v              |     sends is drained, for a while)
//            +------ finished ------ kStreaming --------+
//
// Bytes of ours that the socket did not take wait in out_, or sealed in tls_; until they are gone, no further
// request is looked at, so a peer that does not read is not served. Every state has a deadline but kAnswering,
// which waits for our own handler. Anything may end in kClosed: the peer's end (half-closing included), an error, a deadline.
//
// With TLS, recv and send go through tls_ and the rest does not know: arrived() opens what came, seal() and
// write_sealed() close what goes. What is sealed cannot be taken back, so it counts as taken, 64 KiB at most; a stream
// sends nothing more until the socket has it, and one that is revoked or cut meanwhile is closed without it.
//
// A closed connection is destroyed in the next turn of the loop, because one of its functions may be running.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/codec.h"
#include "http/deadlines.h"
#include "http/server.h"
#include "http/stream.h"
#include "net/loop.h"

namespace agentd::http {

class Answer;
class Connection;
class Edge;

// What a stream has to send in a turn of its edge.
struct Offer {
  Connection* connection = nullptr;
  std::span<iovec> pieces;  // of the edge's gather
  std::size_t bytes = 0;
  iovec sealed = {};             // with TLS, what goes to the socket instead of the pieces
  std::size_t sealed_bytes = 0;  // of the pieces, that are in it
  std::size_t first_event = 0;   // of the edge's peeked
  std::size_t events = 0;
  bool more = false;                                        // there is more than this
  StreamSource::State source = StreamSource::State::kOpen;  // when it was asked for this
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  // `admission` is empty for one that is over the cap, and will be turned away.
  Connection(Edge& edge, Descriptor fd, std::unique_ptr<net::TlsStream> tls, net::Peer peer, std::size_t place,
             Quota::Place admission);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  void turn_away();  // 503: over the cap
  void turn();       // goes on with what was put off to this turn of the loop; may add to the edge's offers
  // Whether the offer may still be sent. If not, another turn will end the stream.
  [[nodiscard]] bool stands(const Offer& offer);
  [[nodiscard]] std::span<iovec> seal(Offer& offer);  // what is to be sent for it
  void sent(const Offer& offer, std::int64_t taken);  // what the kernel took of that, as in Send
  void drain();                                       // closes as soon as nothing is due
  void close();

  // Of the one exchange that is open; no-ops when it no longer is.
  void respond(const Response& response);
  void stream(const Response& head, std::shared_ptr<StreamSource> source, StreamLimits limits);
  void wake();

 private:
  friend class Edge;

  enum class State : std::uint8_t { kReading, kAnswering, kStreaming, kLingering, kClosed };
  // What the deadline is for. Entering a phase sets it; staying in one leaves it alone.
  enum class Phase : std::uint8_t { kNone, kIdle, kHead, kBody, kAnswer, kWrite, kSilence, kStalled, kLinger };

  // Input and the course of things: connection.cc.
  void readable();
  void arrived(std::string_view bytes);
  void received(std::string_view bytes);
  void peer_ended();
  void serve();
  bool step();
  bool take_head();
  void take_request();
  void refuse(int status, std::string_view reason);
  void deadline_missed();
  void lose(Loss loss);
  void broke(int error);
  void enter(Phase phase);
  [[nodiscard]] bool shakes_hands() const;
  [[nodiscard]] Phase phase_of_reading() const;
  void settle();
  void end();

  // Output: connection_output.cc.
  void answer(const Response& response, bool keep_alive);
  void answered(bool keep_alive);
  void write_out();
  bool write_sealed();
  bool flush();
  void tls_broke();
  [[nodiscard]] bool has_sealed() const;  // which the socket has not taken
  [[nodiscard]] bool owes() const;
  void limit_kernel(StreamLimits limits);
  void wait_writable();
  void writable();
  bool offer();
  void cut_if_passed();
  bool stream_idle();
  void end_stream(bool complete);
  void sent_of_out(std::size_t bytes);

  Edge& edge_;
  Descriptor fd_;
  std::unique_ptr<net::TlsStream> tls_;  // none: plain
  std::size_t place_;                    // among the edge's connections
  net::Peer peer_;
  Quota::Place admission_;
  std::optional<net::Watch> watch_;
  Deadline deadline_;
  std::string in_;   // received, not consumed
  std::string out_;  // to send, from sent_ on; emptied when all is
  std::size_t sent_ = 0;
  std::size_t drained_ = 0;  // while lingering
  std::unique_ptr<RequestParser> parser_;
  std::weak_ptr<Answer> open_;
  std::optional<Stream> stream_;
  State state_ = State::kReading;
  Phase phase_ = Phase::kNone;
  bool fresh_ = true;     // has asked nothing yet
  bool queued_ = false;   // for the edge's next turn
  bool serving_ = false;  // inside serve(), which goes on after an answer
  bool awaits_input_ = false;
  bool blocked_ = false;    // the socket is full
  bool ended_ = false;      // the peer sends no more
  bool head_only_ = false;  // of a HEAD request
  bool http10_ = false;
  bool keep_alive_ = true;    // after the open exchange
  bool comment_due_ = false;  // the stream was silent for its keep-alive time
};

}  // namespace agentd::http
