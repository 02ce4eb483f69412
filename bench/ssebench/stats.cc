#include "ssebench/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>

namespace ssebench {

std::uint64_t now_ns(ClockKind clock) {
  timespec now{};
  clock_gettime(clock == ClockKind::kMonotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < cells_.size(); ++i) add(cells_[i], other.cells_[i].load(std::memory_order_relaxed));
}

std::uint64_t Histogram::quantile(double share) const {
  std::uint64_t total = 0;
  for (const Cell& cell : cells_) total += cell.load(std::memory_order_relaxed);
  if (total == 0) return 0;
  const double exact = std::ceil(share * static_cast<double>(total));
  const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(exact));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    seen += cells_[i].load(std::memory_order_relaxed);
    if (seen >= rank) return upper(i);
  }
  return upper(cells_.size() - 1);
}

std::size_t Histogram::index(std::uint64_t value) {
  if (value < (1u << kBits)) return static_cast<std::size_t>(value);
  const int highest = static_cast<int>(std::bit_width(value)) - 1;
  return (static_cast<std::size_t>(highest - kBits + 1) << kBits) +
         static_cast<std::size_t>((value >> (highest - kBits)) & ((1u << kBits) - 1));
}

std::uint64_t Histogram::upper(std::size_t index) {
  if (index < (1u << kBits)) return index;
  const int shift = static_cast<int>(index >> kBits) - 1;
  const std::uint64_t leading = (index & ((1u << kBits) - 1)) | (1u << kBits);
  return (leading << shift) + ((1ull << shift) - 1);
}

void Stats::merge(const Stats& other) {
  add(events, other.events), add(bytes, other.bytes), add(comments, other.comments);
  add(reads, other.reads), add(segments, other.segments);
  add(gaps, other.gaps), add(lost, other.lost), add(dups, other.dups);
  latency.merge(other.latency);
}

}  // namespace ssebench
