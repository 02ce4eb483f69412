#include "http/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "http/answer.h"
#include "http/edge.h"

namespace agentd::http {

namespace {

constexpr std::size_t kPipelinedBytes = 64U << 10U;  // that may wait behind the request being served
constexpr int kRequestsPerTurn = 64;
constexpr std::int64_t kLingerMs = 2'000;
constexpr std::size_t kLingerBytes = 8U << 20U;
constexpr std::string_view kTooSlow = "the request took too long to arrive";

}  // namespace

Connection::Connection(Edge& edge, Descriptor fd, std::unique_ptr<net::TlsStream> tls, net::Peer peer,
                       std::size_t place, Quota::Place admission)
    : edge_(edge),
      fd_(std::move(fd)),
      tls_(std::move(tls)),
      place_(place),
      peer_(std::move(peer)),
      admission_(std::move(admission)),
      watch_(std::in_place, edge.loop, fd_.get()),
      deadline_(edge.deadlines, [this] { deadline_missed(); }) {}

Connection::~Connection() = default;

void Connection::start() { settle(); }

void Connection::turn_away() {
  refuse(503, "too many connections");
  settle();
}

void Connection::turn() {
  if (state_ == State::kReading) serve();
  if (state_ == State::kStreaming && offer()) return;
  settle();
}

void Connection::drain() {
  if (state_ == State::kStreaming) edge_.ready(*this);
  settle();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  watch_.reset();
  deadline_.clear();
  fd_.reset();
  edge_.forget(*this);
  admission_.give_back();
  stream_.reset();
  if (const auto open = open_.lock()) open->abandon();
}

void Connection::readable() {
  awaits_input_ = false;
  const auto count = ::recv(fd_.get(), edge_.input.data(), edge_.input.size(), MSG_DONTWAIT);
  if (count > 0) {
    arrived({edge_.input.data(), static_cast<std::size_t>(count)});
  } else if (count == 0) {
    peer_ended();
  } else if (errno != EAGAIN && errno != EINTR) {
    return broke(errno);
  }
  settle();
}

// What the socket gave. Nobody opens it any more while lingering.
void Connection::arrived(std::string_view bytes) {
  if (!tls_ || state_ == State::kLingering) return received(bytes);
  std::string plain;
  tls_->unseal(bytes, plain);
  if (!peer_.certificate) peer_.certificate = tls_->certificate();
  if (has_sealed()) {
    // A stream's own turn looks first whether it may still send what waits.
    state_ == State::kStreaming ? edge_.ready(*this) : write_out();
  }
  if (!plain.empty() && state_ != State::kClosed) received(plain);
  if (tls_->state() == net::TlsStream::State::kBroken) return tls_broke();
  if (tls_->state() == net::TlsStream::State::kEnded) peer_ended();
}

void Connection::received(std::string_view bytes) {
  if (state_ == State::kLingering) {
    drained_ += bytes.size();
    if (drained_ > kLingerBytes) close();
    return;
  }
  in_.append(bytes);
  if (state_ == State::kReading) serve();
  if (state_ == State::kStreaming && in_.size() >= kPipelinedBytes) close();
}

void Connection::peer_ended() {
  ended_ = true;
  // What was asked before the end is still served, as far as that needs no waiting for a handler.
  const bool owes_bytes = (state_ == State::kReading || state_ == State::kLingering) && owes();
  const bool has_requests = state_ == State::kReading && queued_;
  if (!owes_bytes && !has_requests) end();
}

// Serves the requests that are in in_, as far as they are complete and answered at once.
void Connection::serve() {
  if (std::exchange(serving_, true)) return;
  for (int served = 0; state_ == State::kReading && !owes() && !in_.empty(); ++served) {
    if (served == kRequestsPerTurn) {
      edge_.ready(*this);
      break;
    }
    if (!step()) break;
  }
  serving_ = false;
}

// One step of the request that is being read. False when it needs more bytes.
bool Connection::step() {
  if (!parser_) {
    parser_ = std::make_unique<RequestParser>(ParserLimits{.header_bytes = edge_.limits.header_bytes,
                                                           .header_fields = edge_.limits.header_fields,
                                                           .body_bytes = edge_.limits.body_bytes});
  }
  const bool had_head = parser_->state() == RequestParser::State::kBody;
  in_.erase(0, parser_->feed(in_));
  if (in_.empty()) std::string().swap(in_);  // idle connections keep no room
  switch (parser_->state()) {
    case RequestParser::State::kHead: return false;
    case RequestParser::State::kOversized:
      if (!take_head()) return false;
      [[fallthrough]];
    case RequestParser::State::kRefused: refuse(parser_->refusal().status, parser_->refusal().reason); return false;
    case RequestParser::State::kBody: return !had_head && take_head();
    case RequestParser::State::kDone:
      if (had_head || take_head()) take_request();
      return true;
  }
  return false;
}

// False when that was the end of the request.
bool Connection::take_head() {
  Request& request = parser_->request();
  request.peer = peer_;
  head_only_ = request.method == "HEAD";
  http10_ = parser_->http10();
  keep_alive_ = parser_->keep_alive();
  if (const auto early = edge_.handler.check_header(request)) {
    answer(*early, false);
    return false;
  }
  if (parser_->expects_continue() && parser_->state() == RequestParser::State::kBody && in_.empty()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    write_out();
  }
  return state_ == State::kReading;
}

void Connection::take_request() {
  auto exchange = std::make_shared<Answer>(shared_from_this(), std::move(parser_->request()));
  parser_.reset();
  fresh_ = false;
  state_ = State::kAnswering;
  open_ = exchange;
  edge_.handler.handle(std::move(exchange));
}

void Connection::refuse(int status, std::string_view reason) {
  head_only_ = false;
  answer(edge_.handler.refusal(status, reason), false);
}

void Connection::deadline_missed() {
  switch (phase_) {
    case Phase::kHead:
      edge_.losses.count(shakes_hands() ? Loss::kHandshake : Loss::kHead);
      if (!parser_) return end();
      refuse(408, kTooSlow);
      break;
    case Phase::kBody:
      edge_.losses.count(Loss::kBody);
      refuse(408, kTooSlow);
      break;
    case Phase::kWrite:
    case Phase::kStalled: return lose(Loss::kWrite);
    case Phase::kSilence:
      phase_ = Phase::kNone;
      comment_due_ = true;
      edge_.ready(*this);
      break;
    default: return end();
  }
  settle();
}

void Connection::lose(Loss loss) {
  edge_.losses.count(loss);
  close();
}

// The socket has failed.
void Connection::broke(int error) { lose(error == ETIMEDOUT ? Loss::kWrite : Loss::kReset); }

bool Connection::shakes_hands() const { return tls_ && tls_->state() == net::TlsStream::State::kHandshake; }

void Connection::enter(Phase phase) {
  if (std::exchange(phase_, phase) == phase) return;
  switch (phase) {
    case Phase::kNone:
    case Phase::kAnswer: return deadline_.clear();
    case Phase::kIdle: return deadline_.set(edge_.limits.idle_timeout_ms);
    case Phase::kHead: return deadline_.set(edge_.limits.header_timeout_ms);
    case Phase::kBody:
    case Phase::kWrite: return deadline_.set(edge_.limits.body_timeout_ms);
    case Phase::kSilence: return deadline_.set(stream_->limits().keep_alive_ms);
    case Phase::kStalled: return deadline_.set(stream_->limits().write_timeout_ms);
    case Phase::kLinger: return deadline_.set(kLingerMs);
  }
}

Connection::Phase Connection::phase_of_reading() const {
  if (shakes_hands()) return Phase::kHead;
  if (owes()) return Phase::kWrite;
  if (parser_) return parser_->state() == RequestParser::State::kBody ? Phase::kBody : Phase::kHead;
  return fresh_ || !in_.empty() ? Phase::kHead : Phase::kIdle;
}

// Closes; and says so first where TLS has a word for it, and nothing is due.
void Connection::end() {
  if (tls_ && state_ == State::kReading && !owes() && tls_->finish()) flush();
  close();
}

// After whatever happened: sets the deadline and waits for input as the state wants it.
void Connection::settle() {
  if (state_ == State::kReading && !owes() && !queued_ && (ended_ || edge_.draining())) end();
  switch (state_) {
    case State::kReading: enter(phase_of_reading()); break;
    case State::kAnswering: enter(Phase::kAnswer); break;
    case State::kStreaming: enter(blocked_ ? Phase::kStalled : Phase::kSilence); break;
    case State::kLingering: enter(owes() ? Phase::kWrite : Phase::kLinger); break;
    case State::kClosed: return;
  }
  const bool served = state_ == State::kReading && !owes() && !queued_;
  const bool has_room = served || state_ == State::kLingering || in_.size() < kPipelinedBytes;
  if (ended_ || !has_room || std::exchange(awaits_input_, true)) return;
  watch_->wait_readable([this] { readable(); });
}

}  // namespace agentd::http
