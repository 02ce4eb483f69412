#include "process/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace agentd::process {
namespace {

void tell(int control, Report::Kind kind, int value) {
  const Report report{.kind = kind, .value = value};
  ::send(control, &report, sizeof report, MSG_NOSIGNAL);
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

[[noreturn]] void become_command(const LaunchFds& fds, const Command& command, pid_t supervisor) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);  // it died before the line above
  tell(fds.control, Report::Kind::kStarted, ::getpid());
  if (::write(fds.group, "0", 1) != 1) {
    tell(fds.control, Report::Kind::kNoGroup, errno);
    ::_exit(127);
  }
  ::dup2(fds.in, STDIN_FILENO);
  ::dup2(fds.out, STDOUT_FILENO);
  ::dup2(fds.err, STDERR_FILENO);
  if (*command.cwd != '\0' && ::chdir(command.cwd) != 0) {
    tell(fds.control, Report::Kind::kNoFolder, errno);
    ::_exit(127);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  environ = command.env;
  ::execvp(command.argv[0], command.argv);  // every other descriptor is close-on-exec
  tell(fds.control, Report::Kind::kNoProgram, errno);
  ::_exit(127);
}

// Reaps orphans as they die. True when the command itself has died; that one stays a zombie, so that its pid,
// which names its group, cannot come to belong to somebody else before the group is killed.
bool command_has_died(int children, pid_t command) {
  signalfd_siginfo signal;
  while (::read(children, &signal, sizeof signal) > 0) {
  }
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    if (info.si_pid == command) return true;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

// Until the command is dead, or everything is to be killed.
void wait_for_end(int control, int children, pid_t command) {
  std::int64_t deadline = -1;
  while (!command_has_died(children, command)) {
    if (deadline >= 0 && now_ms() >= deadline) return;
    pollfd ready[] = {{.fd = control, .events = POLLIN, .revents = 0},
                      {.fd = children, .events = POLLIN, .revents = 0}};
    const std::int64_t left = deadline < 0 ? -1 : std::max<std::int64_t>(deadline - now_ms(), 0);
    ::poll(ready, 2, static_cast<int>(left));
    if (ready[0].revents == 0) continue;
    char order = 0;
    if (::recv(control, &order, 1, MSG_DONTWAIT) <= 0) return;  // the daemon is gone, or wants an end at once
    ::kill(-command, SIGTERM);
    deadline = now_ms() + kGraceMs;
  }
}

bool any(pid_t) { return true; }

// Kills everything below us, however it hid: each orphan becomes our child, so that round by round there is
// less. Gives up on what cannot die (a disk that hangs) after kSweepMs. The status of the command.
int kill_all(int children, pid_t command) {
  ::kill(-command, SIGKILL);  // the group at one blow: nobody in it can fork away from the list below
  const std::int64_t deadline = now_ms() + kSweepMs;
  int command_status = SIGKILL;
  while (now_ms() < deadline) {
    kill_children(any);
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == command) command_status = status;
    }
    if (pid < 0) break;  // none left
    pollfd ready{.fd = children, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 10);
    signalfd_siginfo signal;
    while (::read(children, &signal, sizeof signal) > 0) {
    }
  }
  return command_status;
}

}  // namespace

int watch_children() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  return ::signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
}

void kill_children(bool (*chosen)(pid_t)) {
  const int list = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return;
  char text[4'096];
  pid_t pid = 0;
  for (ssize_t size = 0; (size = ::read(list, text, sizeof text)) > 0;) {
    for (const char* at = text; at != text + size; ++at) {  // "12 345 ": a number may go on in the next part
      if (*at >= '0' && *at <= '9') {
        pid = pid * 10 + (*at - '0');
        continue;
      }
      if (pid > 0 && chosen(pid)) ::kill(pid, SIGKILL);
      pid = 0;
    }
  }
  ::close(list);
}

void supervise(const LaunchFds& fds) {
  ::prctl(PR_SET_NAME, "agentd-child");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int children = watch_children();
  const Command command = map_command(fds.command);
  const pid_t supervisor = ::getpid();
  const pid_t pid = command.argv == nullptr || children < 0 ? -1 : ::fork();
  if (pid == 0) become_command(fds, command, supervisor);
  if (pid < 0) {
    tell(fds.control, Report::Kind::kNoProcess, errno);
    ::_exit(1);
  }
  for (const int fd : {fds.command, fds.in, fds.out, fds.err, fds.group}) ::close(fd);
  wait_for_end(fds.control, children, pid);
  tell(fds.control, Report::Kind::kEnded, kill_all(children, pid));
  ::_exit(0);
}

}  // namespace agentd::process
