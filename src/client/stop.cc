#include "client/stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/check.h"

namespace agentd::client {

Stop::Stop() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  AGENTD_CHECK(fd_ >= 0, "no eventfd: out of file descriptors");
}

Stop::~Stop() { ::close(fd_); }

void Stop::request() noexcept {
  const std::uint64_t one = 1;
  // It can only fail when the counter is full, which means stopped already.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

bool Stop::wait_ms(std::int64_t ms) const noexcept {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + milliseconds(std::max<std::int64_t>(ms, 0));
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    pollfd slot{.fd = fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&slot, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace agentd::client
