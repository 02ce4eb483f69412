#include "base/clock.h"

#include <chrono>

namespace agentd {

std::int64_t SystemClock::wall_ms() const {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t SystemClock::mono_ms() const {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace agentd
