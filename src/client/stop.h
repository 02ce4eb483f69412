// Stop: one request to end what is going on, seen at once by every wait that was given it.
//
// Thread-safe. request() may also be called from a signal handler. It is never taken back. Cost: one eventfd.
#pragma once

#include <cstdint>

namespace agentd::client {

class Stop final {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void request() noexcept;
  [[nodiscard]] bool requested() const noexcept { return wait_ms(0); }
  // Waits until stopped, at most `ms`; true when stopped.
  [[nodiscard]] bool wait_ms(std::int64_t ms) const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }  // readable once stopped, and for ever

 private:
  int fd_;
};

}  // namespace agentd::client
