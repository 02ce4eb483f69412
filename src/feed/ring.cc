#include "feed/ring.h"

#include <functional>
#include <utility>

#include "base/check.h"

namespace agentd::feed {

OwnerTag owner_tag(std::string_view principal) { return std::hash<std::string_view>{}(principal) | 2U; }

OwnerTag tag_of(const Visibility& visibility) {
  switch (visibility.reach()) {
    case Visibility::Reach::kAll: return kTagAll;
    case Visibility::Reach::kOperator: return kTagOperators;
    case Visibility::Reach::kOwner: return owner_tag(visibility.principal());
  }
  return kTagOperators;
}

Ring::Ring(std::size_t max_events, std::size_t max_bytes, std::uint64_t first)
    : max_events_(max_events), max_bytes_(max_bytes), next_(first) {
  AGENTD_CHECK(max_events > 0, "a ring holds at least one event");
  AGENTD_CHECK(first > 0, "number 0 means the start of the feed");
}

void Ring::push(FramePtr frame) {
  AGENTD_CHECK(frame->seq == next_, "events enter the ring in the order of their numbers");
  ++next_;
  bytes_ += cost(*frame);
  const OwnerTag tag = tag_of(frame->visibility);
  const Kind kind = frame->kind;
  slots_.push_back({.frame = std::move(frame), .tag = tag, .kind = kind});
  while (slots_.size() > max_events_ || (bytes_ > max_bytes_ && slots_.size() > 1)) {
    bytes_ -= cost(*slots_.front().frame);
    slots_.pop_front();
    ++evicted_;
  }
}

}  // namespace agentd::feed
