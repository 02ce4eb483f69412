#include "process/nursery.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <tuple>

#include "base/log.h"
#include "process/supervisor.h"

namespace agentd::process {
namespace {

bool send_launch(int socket, const LaunchFds& fds) {
  char byte = 'L';
  iovec data{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(rights), &fds, sizeof fds);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

}  // namespace

Nursery::Nursery() {
  if (const Status started = start(); !started) log::warn("no nursery yet", {{"error", started.error().message}});
}

Nursery::~Nursery() { end(); }

Status Nursery::launch(const LaunchFds& fds) {
  if (socket_ && send_launch(socket_.get(), fds)) return {};
  if (auto started = start(); !started) return started;
  if (send_launch(socket_.get(), fds)) return {};
  return fail(Code::kUnavailable, fmt::format("cannot start a process: {}", std::strerror(errno)));
}

Status Nursery::start() {
  end();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(Code::kUnavailable, fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  // Blocked over the fork: no handler of the daemon may run in the copy.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  if (pid_ == 0) run_nursery(theirs.get());
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ > 0) return {};
  socket_.reset();
  return fail(Code::kUnavailable, fmt::format("cannot start a process: {}", std::strerror(error)));
}

void Nursery::end() {
  socket_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // it holds nothing that needs an orderly end, and it may be stopped
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace agentd::process
