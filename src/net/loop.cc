#include "net/loop.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "base/check.h"

namespace agentd::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// With the executor's own type instead of Asio's polymorphic one, which costs 100 bytes more for each watched
// socket.
using Executor = asio::io_context::executor_type;
using SteadyTimer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

// Of nanoseconds since start-up, which is what Asio counts in, int64 holds 292 years.
constexpr std::int64_t kLongestMs = std::int64_t{100} * 365 * 24 * 3'600'000;

}  // namespace

struct Loop::Impl {
  std::atomic<std::thread::id> thread{};
  // Last, so that it goes first: it destroys what is still posted.
  asio::io_context context{1};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
  impl_->thread = std::this_thread::get_id();
  const auto stay = asio::make_work_guard(impl_->context);
  impl_->context.restart();
  impl_->context.run();
  impl_->thread = std::thread::id{};
}

void Loop::stop() {
  // Posted, so that what is due already comes before it, and so that a stop() before run() counts.
  asio::post(impl_->context, [this] { impl_->context.stop(); });
}

void Loop::post(std::move_only_function<void()> work) { asio::post(impl_->context, std::move(work)); }

bool Loop::in_loop_thread() const { return impl_->thread == std::this_thread::get_id(); }

struct Timer::Impl {
  explicit Impl(asio::io_context& context) : timer(context) {}

  void cancel() {
    ++generation;
    fire = nullptr;
    timer.cancel();
  }

  SteadyTimer timer;
  std::move_only_function<void()> fire;
  // A wait that has expired can no longer be cancelled; by its generation it is known as outdated.
  std::uint64_t generation = 0;
};

Timer::Timer(Loop& loop) : impl_(std::make_shared<Impl>(loop.impl().context)) {}
Timer::Timer(Timer&&) noexcept = default;

Timer::~Timer() {
  if (impl_) impl_->cancel();
}

Timer& Timer::operator=(Timer&& other) noexcept {
  std::swap(impl_, other.impl_);
  if (other.impl_) other.impl_->cancel();
  return *this;
}

void Timer::arm(std::int64_t after_ms, std::move_only_function<void()> fire) {
  impl_->fire = std::move(fire);
  const auto generation = ++impl_->generation;
  impl_->timer.expires_after(std::chrono::milliseconds(std::clamp<std::int64_t>(after_ms, 0, kLongestMs)));
  impl_->timer.async_wait([impl = impl_, generation](const error_code&) {
    if (generation != impl->generation) return;
    if (auto due = std::exchange(impl->fire, nullptr)) due();
  });
}

void Timer::cancel() {
  if (armed()) impl_->cancel();
}

bool Timer::armed() const { return static_cast<bool>(impl_->fire); }

struct Watch::Impl {
  // A wait at Asio stays until the descriptor is ready; cancelling and waiting again only exchange the
  // callback.
  struct Side {
    std::move_only_function<void()> ready;
    bool waiting = false;
  };

  explicit Impl(asio::io_context& context) : descriptor(context) {}

  static void wait(const std::shared_ptr<Impl>& self, Side Impl::* which, asio::posix::descriptor_base::wait_type type,
                   std::move_only_function<void()> ready) {
    Side& side = (*self).*which;
    side.ready = std::move(ready);
    if (std::exchange(side.waiting, true)) return;
    // An error is readiness too: the caller's read or write will say what is wrong.
    self->descriptor.async_wait(type, [self, which](const error_code&) {
      Side& done = (*self).*which;
      done.waiting = false;
      if (auto due = std::exchange(done.ready, nullptr)) due();
    });
  }

  void forget() {
    read.ready = nullptr;
    write.ready = nullptr;
  }

  void end() {
    forget();
    descriptor.release();
  }

  Descriptor descriptor;
  Side read;
  Side write;
};

Watch::Watch(Loop& loop, int fd) : impl_(std::make_shared<Impl>(loop.impl().context)) {
  error_code error;
  impl_->descriptor.assign(fd, error);
  AGENTD_CHECK(!error, error.message());
}

Watch::Watch(Watch&&) noexcept = default;

Watch::~Watch() {
  if (impl_) impl_->end();
}

Watch& Watch::operator=(Watch&& other) noexcept {
  std::swap(impl_, other.impl_);
  if (other.impl_) std::exchange(other.impl_, nullptr)->end();
  return *this;
}

void Watch::wait_readable(std::move_only_function<void()> ready) {
  Impl::wait(impl_, &Impl::read, asio::posix::descriptor_base::wait_read, std::move(ready));
}

void Watch::wait_writable(std::move_only_function<void()> ready) {
  Impl::wait(impl_, &Impl::write, asio::posix::descriptor_base::wait_write, std::move(ready));
}

void Watch::cancel() { impl_->forget(); }

struct Signals::Impl {
  Impl(asio::io_context& context, std::function<void(int)> callback) : set(context), on_signal(std::move(callback)) {}

  static void next(const std::shared_ptr<Impl>& self) {
    self->set.async_wait([self](const error_code& error, int number) {
      if (error || self->ended) return;
      self->on_signal(number);
      if (!self->ended) next(self);
    });
  }

  asio::signal_set set;
  std::function<void(int)> on_signal;
  bool ended = false;
};

Signals::Signals(Loop& loop, std::vector<int> numbers, std::function<void(int)> on_signal)
    : impl_(std::make_shared<Impl>(loop.impl().context, std::move(on_signal))) {
  for (const int number : numbers) {
    error_code error;
    impl_->set.add(number, error);
    AGENTD_CHECK(!error, error.message());
  }
  Impl::next(impl_);
}

Signals::~Signals() {
  impl_->ended = true;
  error_code ignored;
  impl_->set.clear(ignored);
  impl_->set.cancel(ignored);
}

}  // namespace agentd::net
