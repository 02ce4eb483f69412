#include "feed/readers.h"

#include <utility>

namespace agentd::feed {

Reader::Reader(Readers& readers, const Viewer& viewer)
    : readers_(&readers),
      place_(readers.by_owner_.emplace(viewer.is_operator ? kTagOperators : owner_tag(viewer.principal), this)) {}

void Reader::leave() {
  if (Readers* const readers = std::exchange(readers_, nullptr)) readers->by_owner_.erase(place_);
}

void Readers::moved() {
  const std::uint64_t accounted = through_;
  feed_.news_since(accounted, news_);
  if (news_.through == accounted) return;
  through_ = news_.through;
  if (news_.for_everybody) {
    for (const auto& [tag, reader] : by_owner_) reader->woken(accounted);
    return;
  }
  wake(kTagOperators, accounted);
  for (const OwnerTag owner : news_.owners) wake(owner, accounted);
}

void Readers::wake_revoked() {
  for (const auto& [tag, reader] : by_owner_) {
    if (reader->is_revoked()) reader->woken(through_);
  }
}

void Readers::wake(OwnerTag tag, std::uint64_t accounted) {
  const auto [begin, end] = by_owner_.equal_range(tag);
  for (auto at = begin; at != end; ++at) at->second->woken(accounted);
}

}  // namespace agentd::feed
