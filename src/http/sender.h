// Sender: hands one message to each of many sockets and waits for none of them. Confined to one thread.
//
// A system call for each; or, where that is asked for and the kernel allows it (Linux 6.1 and later, unless a sandbox
// forbids it), one io_uring call for all. Both ways the kernel is done with every message when send() returns: a
// message marked MSG_DONTWAIT is completed while it is submitted, so nothing has to outlive the call.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>

namespace agentd::http {

struct Send {
  int fd = -1;
  std::span<iovec> pieces;
  std::int64_t taken = 0;  // set by send(): bytes, 0 when the socket is full, -errno when it is broken
};

class Sender final {
 public:
  Sender();
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // From now on, where the kernel allows it. Called on the thread that sends: the ring is this thread's.
  void use_io_uring();
  void send(std::span<Send> sends);

 private:
  class Ring;

  std::unique_ptr<Ring> ring_;  // none: by calls
};

// One message alone: what Send::taken says.
[[nodiscard]] std::int64_t send_pieces(int fd, std::span<iovec> pieces);

}  // namespace agentd::http
