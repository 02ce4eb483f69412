#include "feed/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/log.h"
#ifndef NDEBUG
#include "schema/validator.h"
#endif

namespace agentd::feed {
namespace {

constexpr std::uint64_t kSeqLimit = std::uint64_t{1} << 53U;  // past it a double no longer tells numbers apart
constexpr std::uint64_t kRetryAfter = 4096;                   // events, after a reservation that failed
constexpr std::size_t kScratchKept = 1U << 20U;
constexpr std::int64_t kEpoch2026Ms = 1'767'225'600'000;
constexpr std::uint64_t kNumbersPerSecond = 65'536;

#ifndef NDEBUG
// Holds what is about to be published to the schema of its kind.
void check_data(Kind kind, std::string_view data) {
  static const std::vector<schema::Validator> validators = [] {
    std::vector<schema::Validator> out;
    for_each_row([&](const auto& row) { out.push_back(schema::compile(row.schema()).value()); });
    return out;
  }();
  const auto misses = validators[static_cast<std::size_t>(kind)].validate(Json::parse(data), "data");
  if (misses.empty()) return;
  std::string reasons;
  for (const FieldViolation& miss : misses) reasons += fmt::format("; {} {}", miss.field, miss.description);
  AGENTD_CHECK(misses.empty(), fmt::format("kind {}{}; data {}", kind_name(kind), reasons, data));
}
#else
void check_data(Kind, std::string_view) {}
#endif

}  // namespace

std::uint64_t first_seq(std::uint64_t reserved_end, std::int64_t wall_ms) {
  const auto since = static_cast<std::uint64_t>(std::max<std::int64_t>(0, wall_ms - kEpoch2026Ms));
  // In milliseconds, so that two lives within one second of a store that keeps nothing begin apart too.
  return std::max(reserved_end + 2, since * kNumbersPerSecond / 1000);
}

Feed::Feed(Options options, std::uint64_t first, ReserveBlock reserve, const Clock& clock)
    : options_(std::move(options)),
      reserve_(std::move(reserve)),
      clock_(clock),
      next_(first),
      reserve_at_(first),
      ring_(options_.ring_events, options_.ring_bytes, first),
      introspection_(options_.introspection) {
  reserve_if_due();
}

void Feed::reserve_if_due() {
  if (next_ < reserve_at_) return;
  AGENTD_CHECK(next_ + options_.block < kSeqLimit, "the numbers of the feed stay below 2^53");
  const std::uint64_t end = next_ + options_.block - 1;
  if (const agentd::Status done = reserve_(end); done.has_value()) {
    reserve_at_ = end + 1;
  } else {
    reserve_at_ = next_ + kRetryAfter;
    log::error("feed: numbers could not be reserved; going on without", {{"end", end}, {"why", done.error().message}});
  }
}

void Feed::begin(Kind kind) {
  reserve_if_due();
  scratch_.clear();
  scratch_ += R"({"event":{"seq":)";
  append_count(scratch_, next_);
  scratch_ += R"(,"ts":)";
  append_count(scratch_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, clock_.wall_ms())));
  scratch_ += R"(,"kind":)";
  append_quoted(scratch_, kind_name(kind));
  scratch_ += R"(,"data":)";
  data_begin_ = scratch_.size();
}

std::uint64_t Feed::publish(Kind kind, const Visibility& visibility, Cut cut) {
  AGENTD_CHECK(within(audience(kind), visibility), fmt::format("kind {} may not go so wide", kind_name(kind)));
  check_data(kind, std::string_view(scratch_).substr(data_begin_));
  scratch_ += "}}";
  const std::uint64_t seq = next_++;
  auto frame = std::make_shared<const Frame>(Frame{.seq = seq,
                                                   .kind = kind,
                                                   .visibility = visibility,
                                                   .text = scratch_,
                                                   .cut_begin = cut.begin,
                                                   .cut_end = cut.end});
  if (scratch_.capacity() > kScratchKept) std::string().swap(scratch_);
  {
    const MutexLock lock(mutex_);
    ring_.push(std::move(frame));
  }
  if (wake_) wake_();
  return seq;
}

void Feed::set_introspection(bool on) {
  const MutexLock lock(mutex_);
  introspection_ = on;
}

bool Feed::introspection() const {
  const MutexLock lock(mutex_);
  return introspection_;
}

Window Feed::window() const {
  const MutexLock lock(mutex_);
  return ring_.window();
}

void Feed::news_since(std::uint64_t seq, News& out) const {
  out.for_everybody = false;
  out.owners.clear();
  {
    const MutexLock lock(mutex_);
    const Window window = ring_.window();
    out.through = window.newest;
    if (seq + 1 < window.oldest) {
      out.for_everybody = true;
      return;
    }
    for (const Ring::Slot& slot : ring_.from(seq + 1)) {
      if (slot.tag == kTagAll) out.for_everybody = true;
      // Those of one owner come one after the other, most of the time.
      const bool owned = slot.tag != kTagAll && slot.tag != kTagOperators;
      if (owned && (out.owners.empty() || out.owners.back() != slot.tag)) out.owners.push_back(slot.tag);
    }
  }
  std::ranges::sort(out.owners);
  const auto repeated = std::ranges::unique(out.owners);
  out.owners.erase(repeated.begin(), repeated.end());
}

std::uint64_t Feed::evicted() const {
  const MutexLock lock(mutex_);
  return ring_.evicted();
}

}  // namespace agentd::feed
