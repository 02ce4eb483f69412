#include "cli/interrupts.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace agentd::cli {
namespace {

void watch(int signals, client::Stop& stop, const client::Stop& done) {
  pollfd slots[] = {{.fd = signals, .events = POLLIN, .revents = 0}, {.fd = done.fd(), .events = POLLIN, .revents = 0}};
  // Without a deadline on purpose: the destructor ends it.
  while (::poll(slots, 2, -1) < 0 && errno == EINTR) {
  }
  if (slots[0].revents != 0) stop.request();
}

}  // namespace

Interrupts::Interrupts(client::Stop& stop) : pipe_before_(std::signal(SIGPIPE, SIG_IGN)) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, number);
  AGENTD_CHECK(::pthread_sigmask(SIG_BLOCK, &wanted, &before_) == 0, "signals cannot be blocked");
  const int signals = ::signalfd(-1, &wanted, SFD_CLOEXEC);
  AGENTD_CHECK(signals >= 0, "no signalfd: out of file descriptors");
  watcher_ = std::thread([this, signals, &stop] {
    watch(signals, stop, done_);
    ::close(signals);
  });
}

Interrupts::~Interrupts() {
  done_.request();
  watcher_.join();
  // A signal that was answered with a stop is still pending; it must not kill us now.
  const timespec at_once{};
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&taken, number);
  while (::sigtimedwait(&taken, nullptr, &at_once) > 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  std::signal(SIGPIPE, pipe_before_);
}

}  // namespace agentd::cli
