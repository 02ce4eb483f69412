#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iterator>
#include <utility>

#include "http/answer.h"
#include "http/connection.h"
#include "http/edge.h"

namespace agentd::http {

namespace {

// Of a stream: so much may wait in the kernel for a reader that lags, and the ring of the feed is the rest of
// the buffer.
constexpr int kStreamSendBuffer = 128 << 10;

// Bytes taken, 0 when the socket is full, -1 when it is broken.
std::int64_t send_pieces(int fd, std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  // Not by sendmsg(), which is a place where threads can be cancelled: that is a twentieth of what an event costs.
  const auto sent = ::syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return sent;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
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
  if (!out_.empty()) {
    iovec piece = {.iov_base = out_.data() + sent_, .iov_len = out_.size() - sent_};
    const auto sent = send_pieces(fd_.get(), {&piece, 1});
    if (sent < 0) return close();
    if (sent > 0) phase_ = Phase::kNone;
    sent_of_out(static_cast<std::size_t>(sent));
    if (!out_.empty()) return wait_writable();
  }
  if (state_ != State::kLingering) return;
  if (ended_) return close();
  ::shutdown(fd_.get(), SHUT_WR);
}

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
  if (state_ == State::kStreaming) {
    send_stream();
  } else {
    write_out();
    if (state_ == State::kReading) serve();
  }
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

// One send: 64 KB at most, so that a turn of the loop belongs to all. What is left is for the next turn, or
// for when the socket takes more.
void Connection::send_stream() {
  const auto state = stream_->source().state();
  if (state == StreamSource::State::kCut) return close();
  if (state == StreamSource::State::kRevoked && (blocked_ || stream_->in_event())) return close();
  if (blocked_) {
    // It waits for its reader, but not once its source has moved on without it, as a peek finds.
    edge_.peeked.clear();
    stream_->source().peek(edge_.peeked, 1);
    edge_.peeked.clear();
    if (stream_->source().state() == StreamSource::State::kCut) close();
    return;
  }
  Gather& gather = edge_.gather;
  gather.clear();
  const auto head = std::string_view(out_).substr(sent_);
  gather.add(head);
  const bool more = stream_->gather(gather, edge_.peeked);
  if (gather.bytes() == 0) {
    if (stream_->taken(0, edge_.peeked) > 0) return edge_.ready(*this);
    return stream_idle();
  }
  const auto sent = send_pieces(fd_.get(), gather.pieces());
  if (sent < 0) return close();
  if (sent > 0) {
    phase_ = Phase::kNone;
    comment_due_ = false;
  }
  const auto of_head = std::min(static_cast<std::size_t>(sent), head.size());
  sent_of_out(of_head);
  stream_->taken(static_cast<std::size_t>(sent) - of_head, edge_.peeked);
  if (static_cast<std::size_t>(sent) < gather.bytes()) return wait_writable();
  if (more) return edge_.ready(*this);
  stream_idle();
}

// Everything the source had is with the kernel.
void Connection::stream_idle() {
  StreamSource& source = stream_->source();
  switch (source.state()) {
    case StreamSource::State::kCut: return close();
    case StreamSource::State::kFinished: return end_stream(true);
    case StreamSource::State::kOpen:
    case StreamSource::State::kRevoked: break;
  }
  if (edge_.draining()) return end_stream(false);
  if (!std::exchange(comment_due_, false)) return;
  const std::string comment = source.keep_alive();
  if (comment.empty()) return;
  out_ = stream_->chunked() == Chunked::kYes ? fmt::format("{:x}\r\n{}\r\n", comment.size(), comment) : comment;
  send_stream();
}

void Connection::end_stream(bool complete) {
  if (complete && stream_->chunked() == Chunked::kYes) out_ += "0\r\n\r\n";
  stream_.reset();
  answered(complete && keep_alive_ && !edge_.draining());
  if (state_ == State::kReading) serve();
}

}  // namespace agentd::http
