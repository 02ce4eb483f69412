// Loop: one thread's event loop: readiness of descriptors, timers, signals, and work posted from other
// threads. The only interface through which the tree sees Asio.
//
// Confined to the thread that calls run(), except post() and stop(), which any thread may call. A callback
// never runs inside the call that set it. Everything here is cancelled by destruction: no callback after
// that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace agentd::net {

class Loop final {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();   // until stop(); stays, asleep, although there is nothing to do
  void stop();  // after the callbacks that are due; before run(), makes that return soon
  void post(std::move_only_function<void()> work);
  [[nodiscard]] bool in_loop_thread() const;

  struct Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Fires once per arm(). Arming again replaces; `after_ms` 0 fires on the next turn. Monotonic.
class Timer final {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  void arm(std::int64_t after_ms, std::move_only_function<void()> fire);
  void cancel();
  [[nodiscard]] bool armed() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Readiness of a descriptor that the caller owns and keeps open until after this is gone; non-blocking, and
// watched only once per loop. Each wait fires once; waiting again replaces its callback. May fire although
// nothing is there to read.
class Watch final {
 public:
  Watch(Loop& loop, int fd);
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  void wait_readable(std::move_only_function<void()> ready);
  void wait_writable(std::move_only_function<void()> ready);
  void cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Calls `on_signal(number)` for each of `numbers` that arrives, for as long as it lives.
class Signals final {
 public:
  Signals(Loop& loop, std::vector<int> numbers, std::function<void(int)> on_signal);
  ~Signals();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentd::net
