#include "http/sender.h"

#include <liburing.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace agentd::http {

namespace {

constexpr unsigned kAtOnce = 256;  // messages in one call of io_uring
constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;

std::int64_t taken_of(std::int64_t result, int error) {
  if (result >= 0) return result;
  return error == EAGAIN || error == EINTR ? 0 : -error;
}

}  // namespace

std::int64_t send_pieces(int fd, std::span<iovec> pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  // Not by sendmsg(), which is a place where threads can be cancelled: that is a twentieth of what an event costs.
  const auto sent = ::syscall(SYS_sendmsg, fd, &message, kFlags);
  return taken_of(sent, errno);
}

class Sender::Ring {
 public:
  // Null where the kernel has no such thing, or does not let us.
  static std::unique_ptr<Ring> make() {
    auto ring = std::unique_ptr<Ring>(new Ring);
    return ring->made_ ? std::move(ring) : nullptr;
  }
  ~Ring() {
    if (made_) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // At most kAtOnce. False when the ring failed, and is of no more use.
  bool send(std::span<Send> sends) {
    for (std::size_t i = 0; i < sends.size(); ++i) {
      messages_[i] = {};
      sends[i].taken = -ECANCELED;
      messages_[i].msg_iov = sends[i].pieces.data();
      messages_[i].msg_iovlen = sends[i].pieces.size();
      io_uring_sqe* entry = io_uring_get_sqe(&ring_);
      io_uring_prep_sendmsg(entry, sends[i].fd, &messages_[i], kFlags);
      io_uring_sqe_set_data64(entry, i);
    }
    const bool submitted = submit(static_cast<unsigned>(sends.size()));
    for (io_uring_cqe* end = nullptr; io_uring_peek_cqe(&ring_, &end) == 0; io_uring_cqe_seen(&ring_, end)) {
      sends[io_uring_cqe_get_data64(end)].taken = taken_of(end->res, -end->res);
    }
    return submitted;
  }

 private:
  Ring() {
    io_uring_params params{};
    params.flags = IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    made_ = io_uring_queue_init_params(kAtOnce, &ring_, &params) == 0;
  }

  // All of them, and each is complete. An interrupted call has submitted only some.
  bool submit(unsigned count) {
    while (count > 0) {
      const int submitted = io_uring_submit_and_wait(&ring_, count);
      if (submitted >= 0) {
        count -= static_cast<unsigned>(submitted);
      } else if (submitted != -EINTR && submitted != -EAGAIN) {
        return false;
      }
    }
    return true;
  }

  io_uring ring_{};
  std::array<msghdr, kAtOnce> messages_{};
  bool made_ = false;
};

Sender::Sender() = default;

Sender::~Sender() = default;

void Sender::use_io_uring() { ring_ = Ring::make(); }

void Sender::send(std::span<Send> sends) {
  while (ring_ && sends.size() > 1) {
    const auto some = sends.first(std::min<std::size_t>(sends.size(), kAtOnce));
    if (!ring_->send(some)) ring_.reset();
    sends = sends.subspan(some.size());
  }
  for (Send& one : sends) one.taken = send_pieces(one.fd, one.pieces);
}

}  // namespace agentd::http
