// The clock seam. Everything that reads a clock takes a Clock&, so that tests can turn its hands.
// Thread rule: both clocks may be read from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace agentd {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::int64_t wall_ms() const = 0;  // since the epoch; may jump
  [[nodiscard]] virtual std::int64_t mono_ms() const = 0;  // for deadlines and ages; never goes back
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_ms() const override;
  [[nodiscard]] std::int64_t mono_ms() const override;
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t wall_ms = 1'767'225'600'000) : wall_(wall_ms) {}
  [[nodiscard]] std::int64_t wall_ms() const override { return wall_; }
  [[nodiscard]] std::int64_t mono_ms() const override { return mono_; }
  void advance_ms(std::int64_t ms) {
    wall_ += ms;
    mono_ += ms;
  }
  void set_wall_ms(std::int64_t ms) { wall_ = ms; }

 private:
  std::atomic<std::int64_t> wall_;
  std::atomic<std::int64_t> mono_{0};
};

}  // namespace agentd
