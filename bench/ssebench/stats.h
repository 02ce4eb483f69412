// What is counted. A Stats has one writer, a receiver's thread; the main thread reads it while it is written, so its
// cells are atomic and relaxed. Shared is what all threads of the program see of each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ssebench/options.h"

namespace ssebench {

std::uint64_t now_ns(ClockKind clock);

using Cell = std::atomic<std::uint64_t>;

inline void add(Cell& cell, std::uint64_t value) {  // by the cell's one writer
  cell.store(cell.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

// Log-linear: 64 cells for each power of two, so a quantile is at most 1.6 % too high.
class Histogram final {
 public:
  void record(std::uint64_t value) { add(cells_[index(value)], 1); }
  void merge(const Histogram& other);
  std::uint64_t quantile(double share) const;  // 0 when nothing was recorded

 private:
  static constexpr int kBits = 6;
  static std::size_t index(std::uint64_t value);
  static std::uint64_t upper(std::size_t index);

  std::array<Cell, (64 - kBits + 1) << kBits> cells_{};
};

struct Stats {
  Cell events{0}, bytes{0}, comments{0}, reads{0}, segments{0}, gaps{0}, lost{0}, dups{0};
  Histogram latency;

  void merge(const Stats& other);
};

struct Shared {
  std::uint64_t begun_ns = 0;  // when the first connection was begun
  std::atomic<int> step{0};    // which Stats of a receiver counts; 0 is what is thrown away
  std::atomic<int> open{0}, ready{0}, failed{0}, closed{0}, stalled_closed{0}, reconnects{0};
  std::atomic<bool> stop{false}, pub_stop{false};
  std::atomic<double> pub_rate{0};  // messages/s; 0 is a closed loop, less is a pause
  std::atomic<std::uint64_t> published{0}, pub_errors{0};
};

}  // namespace ssebench
