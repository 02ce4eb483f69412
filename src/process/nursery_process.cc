// The nursery itself, after the fork.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "process/supervisor.h"

namespace agentd::process {
namespace {

constexpr int kSocket = 3;

// Leaves of the daemon nothing but the socket. Descriptors that come later are never 0, 1 or 2.
void shed_inheritance(int socket) {
  if (socket != kSocket) ::dup3(socket, kSocket, O_CLOEXEC);
  ::close_range(kSocket + 1, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < kSocket; ++fd) ::dup2(null, fd);
  if (null > kSocket) ::close(null);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
}

// False at the end of the stream. A message without its descriptors (we are out of them) is dropped, and with
// it the daemon's only way to a supervisor: it sees its control socket end.
bool receive_launch(LaunchFds& fds, bool& complete) {
  char byte = 0;
  iovec data{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  const ssize_t size = ::recvmsg(kSocket, &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return size < 0 && errno == EINTR;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return true;
  complete = rights->cmsg_len == CMSG_LEN(sizeof fds);
  if (complete) {
    std::memcpy(&fds, CMSG_DATA(rights), sizeof fds);
  } else {
    ::close_range(kSocket + 2, ~0U,
                  0);  // whatever did come; above the socket stands only our signal descriptor
  }
  return true;
}

void launch(const LaunchFds& fds, int children) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(kSocket);  // else the daemon would not notice our death
    ::close(children);
    supervise(fds);
  }
  if (pid < 0) {
    const Report report{.kind = Report::Kind::kNoProcess, .value = errno};
    ::send(fds.control, &report, sizeof report, MSG_NOSIGNAL);
  }
  for (const int fd : {fds.command, fds.in, fds.out, fds.err, fds.control, fds.group}) ::close(fd);
}

// Supervisors stay in our session; commands leave it and their descendants cannot come back. So a child of
// ours in another session is what a killed supervisor left behind.
bool is_stray(pid_t pid) { return ::getsid(pid) != ::getsid(0); }

void reap(int children) {
  signalfd_siginfo info;
  while (::read(children, &info, sizeof info) > 0) {
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  kill_children(is_stray);
}

}  // namespace

void run_nursery(int socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "agentd-nursery");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  shed_inheritance(socket);
  const int children = watch_children();
  while (true) {
    pollfd ready[] = {{.fd = kSocket, .events = POLLIN, .revents = 0},
                      {.fd = children, .events = POLLIN, .revents = 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) ::_exit(1);
    if (ready[1].revents != 0) reap(children);
    if (ready[0].revents == 0) continue;
    LaunchFds fds{};
    bool complete = false;
    if (!receive_launch(fds, complete)) ::_exit(0);
    if (complete) launch(fds, children);
  }
}

}  // namespace agentd::process
