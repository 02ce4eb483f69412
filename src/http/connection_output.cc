#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>
#include <span>
#include <string_view>
#include <utility>

#include "http/answer.h"
#include "http/connection.h"
#include "http/edge.h"
#include "http/sender.h"

namespace agentd::http {

namespace {

// Of a stream: so much may wait in the kernel for a reader that lags, and the ring of the feed is the rest of
// the buffer.
constexpr int kStreamSendBuffer = 128 << 10;

// A send reads only; iovec serves both ways and knows no const.
iovec piece_of(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

}  // namespace

void Connection::respond(const Response& response) {
  if (state_ != State::kAnswering) return;
  answer(response, keep_alive_ && !edge_.draining());
  if (serving_) return;
  serve();
  settle();
}

void Connection::answer(const Response& response, bool keep_alive) {
  append_head(out_, response, {.keep_alive = keep_alive, .date = edge_.date.at(edge_.clock.wall_ms())});
  if (!head_only_ && has_body(response.status)) out_ += response.body;
  answered(keep_alive);
}

// The answer is in out_, or was streamed.
void Connection::answered(bool keep_alive) {
  parser_.reset();
  open_.reset();
  fresh_ = false;
  phase_ = Phase::kNone;
  state_ = keep_alive ? State::kReading : State::kLingering;
  if (!keep_alive) std::string().swap(in_);
  write_out();
}

void Connection::write_out() {
  if (tls_) {
    if (!write_sealed()) return;
  } else if (!out_.empty()) {
    iovec piece = piece_of(std::string_view(out_).substr(sent_));
    const auto sent = send_pieces(fd_.get(), {&piece, 1});
    if (sent < 0) return broke(static_cast<int>(-sent));
    if (sent > 0) phase_ = Phase::kNone;
    sent_of_out(static_cast<std::size_t>(sent));
    if (!out_.empty()) return wait_writable();
  }
  if (state_ != State::kLingering) return;
  if (ended_) return close();
  ::shutdown(fd_.get(), SHUT_WR);
}

// The same through TLS, up to the farewell. False when that is not all with the kernel.
bool Connection::write_sealed() {
  while (flush()) {
    if (out_.empty()) {
      if (state_ == State::kLingering && tls_->finish()) continue;
      return true;
    }
    const iovec piece = piece_of(std::string_view(out_).substr(sent_));
    const auto sealed = tls_->seal({&piece, 1});
    if (sealed == 0) {
      close();
      return false;
    }
    sent_of_out(sealed);
  }
  return false;
}

// Gives the socket what is sealed. False when it did not take all.
bool Connection::flush() {
  if (!has_sealed()) return true;
  iovec piece = piece_of(tls_->outgoing());
  const auto sent = send_pieces(fd_.get(), {&piece, 1});
  if (sent < 0) {
    broke(static_cast<int>(-sent));
    return false;
  }
  // What TLS says on its own buys a peer no time that owes us a handshake or a request.
  if (sent > 0 && (state_ != State::kReading || phase_ == Phase::kWrite)) phase_ = Phase::kNone;
  tls_->sent(static_cast<std::size_t>(sent));
  if (!has_sealed()) return true;
  wait_writable();
  return false;
}

// While it is the peer's turn, it is told why: an alert is the last thing that goes out.
void Connection::tls_broke() {
  if (state_ != State::kReading) return close();
  parser_.reset();
  std::string().swap(in_);
  sent_of_out(out_.size() - sent_);
  state_ = State::kLingering;
  write_out();
}

bool Connection::has_sealed() const { return tls_ && !tls_->outgoing().empty(); }

bool Connection::owes() const { return !out_.empty() || has_sealed(); }

void Connection::sent_of_out(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < out_.size()) return;
  sent_ = 0;
  std::string().swap(out_);
}

void Connection::wait_writable() {
  if (std::exchange(blocked_, true)) return;
  watch_->wait_writable([this] { writable(); });
}

void Connection::writable() {
  blocked_ = false;
  if (state_ == State::kStreaming) return edge_.ready(*this);
  write_out();
  if (state_ == State::kReading) serve();
  settle();
}

void Connection::stream(const Response& head, std::shared_ptr<StreamSource> source, StreamLimits limits) {
  if (state_ != State::kAnswering) return source->closed();
  keep_alive_ = keep_alive_ && !edge_.draining();
  append_head(out_, head,
              {.framing = http10_ ? Framing::kUntilClose : Framing::kChunked,
               .keep_alive = keep_alive_,
               .date = edge_.date.at(edge_.clock.wall_ms())});
  if (head_only_) {
    source->closed();
    answered(keep_alive_);
    if (!serving_) serve();
  } else {
    limit_kernel(limits);
    stream_.emplace(std::move(source), limits, http10_ ? Chunked::kNo : Chunked::kYes);
    open_.reset();
    state_ = State::kStreaming;
    edge_.ready(*this);
  }
  if (!serving_) settle();
}

// What the kernel holds for the reader of a stream, and how long it tries to bring that to one that has vanished.
void Connection::limit_kernel(StreamLimits limits) {
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &kStreamSendBuffer, sizeof kStreamSendBuffer);
  const auto patience = static_cast<unsigned>(std::min<std::int64_t>(limits.write_timeout_ms, INT_MAX));
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

void Connection::wake() {
  if (state_ == State::kStreaming) edge_.ready(*this);
}

// 64 KB at most, so that a turn of the loop belongs to all. What is left is for the next turn, or for when the socket
// takes more.
bool Connection::offer() {
  const auto state = stream_->source().state();
  if (state == StreamSource::State::kCut ||
      (state == StreamSource::State::kRevoked && (blocked_ || has_sealed() || stream_->in_event()))) {
    close();
    return false;
  }
  if (blocked_) {
    cut_if_passed();
    return false;
  }
  if (!flush()) return false;
  Gather& gather = edge_.gather;
  const auto first = edge_.peeked.size();
  gather.add(std::string_view(out_).substr(sent_));
  const bool more = stream_->gather(gather, edge_.peeked);
  if (gather.bytes() == 0) {
    if (stream_->taken(0, std::span(edge_.peeked).subspan(first)) > 0) {
      edge_.ready(*this);
      return false;
    }
    if (!stream_idle()) return false;
    gather.add(out_);
  }
  edge_.offers.push_back({.connection = this,
                          .pieces = gather.pieces(),
                          .bytes = gather.bytes(),
                          .first_event = first,
                          .events = edge_.peeked.size() - first,
                          .more = more,
                          .source = state});
  return true;
}

bool Connection::stands(const Offer& offer) {
  // What was closed since it offered has no socket any more, and a new one may have its number.
  if (state_ != State::kStreaming) return false;
  const auto now = stream_->source().state();
  const bool over = now == StreamSource::State::kCut || now == StreamSource::State::kRevoked;
  if (!over || now == offer.source) return true;
  edge_.ready(*this);
  return false;
}

// It waits for its reader, but not once its source has moved on without it, as a peek finds.
void Connection::cut_if_passed() {
  const auto first = edge_.peeked.size();
  stream_->source().peek(edge_.peeked, 1);
  edge_.peeked.resize(first);
  if (stream_->source().state() == StreamSource::State::kCut) close();
}

std::span<iovec> Connection::seal(Offer& offer) {
  if (!tls_) return offer.pieces;
  offer.sealed_bytes = tls_->seal(offer.pieces);
  offer.sealed = piece_of(tls_->outgoing());
  return {&offer.sealed, 1};
}

void Connection::sent(const Offer& offer, std::int64_t taken) {
  if (state_ != State::kStreaming) return;
  if (taken < 0) return broke(static_cast<int>(-taken));
  if (tls_ && offer.sealed_bytes == 0) return close();
  if (taken > 0) {
    phase_ = Phase::kNone;
    comment_due_ = false;
  }
  if (tls_) tls_->sent(static_cast<std::size_t>(taken));
  const auto bytes = tls_ ? offer.sealed_bytes : static_cast<std::size_t>(taken);
  const bool full = tls_ ? has_sealed() : bytes < offer.bytes;
  const auto of_head = std::min(bytes, out_.size() - sent_);
  if (of_head > 0) sent_of_out(of_head);
  stream_->taken(bytes - of_head, std::span(edge_.peeked).subspan(offer.first_event, offer.events));
  if (full) {
    wait_writable();
  } else if (bytes < offer.bytes || offer.more) {
    edge_.ready(*this);
  } else {
    stream_idle();
  }
  settle();
}

// Everything the source had is with the kernel. True when it is to be kept alive by what is in out_.
bool Connection::stream_idle() {
  StreamSource& source = stream_->source();
  const auto state = source.state();
  if (state == StreamSource::State::kCut) {
    close();
  } else if (state == StreamSource::State::kFinished || edge_.draining()) {
    end_stream(state == StreamSource::State::kFinished);
  } else if (std::exchange(comment_due_, false)) {
    const std::string comment = source.keep_alive();
    out_ = stream_->chunked() == Chunked::kYes && !comment.empty()
               ? fmt::format("{:x}\r\n{}\r\n", comment.size(), comment)
               : comment;
    return !out_.empty();
  }
  return false;
}

void Connection::end_stream(bool complete) {
  if (complete && stream_->chunked() == Chunked::kYes) out_ += "0\r\n\r\n";
  stream_.reset();
  answered(complete && keep_alive_ && !edge_.draining());
  if (state_ == State::kReading) serve();
}

}  // namespace agentd::http
