#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "feed/feed.h"

namespace agentd::feed {
namespace {

// events.md section 5: whether what lies past the cursor is all there.
bool must_resync(std::uint64_t cursor, const Window& window) {
  if (cursor == 0) return false;
  return cursor + 1 < window.oldest || cursor > window.newest;
}

}  // namespace

Subscription::Subscription(const Feed& feed, Interest interest, std::uint64_t from_seq)
    : feed_(feed), interest_(std::move(interest)), tag_(owner_tag(interest_.viewer.principal)), asked_(from_seq) {
  Window window;
  {
    const MutexLock lock(feed_.mutex_);
    window = feed_.ring_.window();
    introspection_ = feed_.introspection_;
  }
  newest_ = window.newest;
  resync_ = must_resync(asked_, window);
  cursor_ = resync_ || asked_ == 0 ? window.oldest - 1 : asked_;
}

std::string Subscription::hello() const {
  std::string out;
  ObjectWriter frame(out);
  frame.key("hello");
  ObjectWriter hello(out);
  hello.count("seq", newest_).count("resume", asked_).flag("resync", resync_);
  hello.flag("introspection", introspection_).text("version", feed_.options_.version);
  hello.close();
  frame.close();
  return out;
}

bool Subscription::admits(const Ring::Slot& slot, bool introspection) const {
  // The tags settle nearly all; may_see has the last word.
  if (!interest_.viewer.is_operator && slot.tag != tag_ && slot.tag != kTagAll) return false;
  if (!interest_.kinds.contains(slot.kind)) return false;
  if (slot.kind == Kind::kAudit && !introspection) return false;
  return may_see(interest_.viewer, slot.frame->visibility);
}

Subscription::Batch Subscription::peek(std::size_t max_bytes) const {
  Batch batch;
  batch.through = cursor_;
  std::size_t bytes = 0;
  const MutexLock lock(feed_.mutex_);
  // Asked under the lock: whoever sees an event that was pushed after the revocation sees the revocation too.
  if (revoked()) {
    batch.revoked = true;
    return batch;
  }
  if (cursor_ + 1 < feed_.ring_.window().oldest) {
    batch.lagged = true;
    return batch;
  }
  for (const Ring::Slot& slot : feed_.ring_.from(cursor_ + 1)) {
    if (admits(slot, feed_.introspection_)) {
      bytes += slot.frame->text.size();
      if (!batch.frames.empty() && bytes > max_bytes) {
        batch.more = true;
        break;
      }
      batch.frames.push_back(slot.frame);
    }
    ++batch.through;
  }
  return batch;
}

void Subscription::advance(std::uint64_t seq) {
  AGENTD_CHECK(seq >= cursor_, "a cursor never goes back");
  cursor_ = seq;
}

std::string Subscription::goodbye(std::string_view reason) const {
  AGENTD_CHECK(reason == "deadline" || reason == "revoked", "a goodbye has one of two reasons");
  std::string out;
  ObjectWriter frame(out);
  frame.key("goodbye");
  ObjectWriter goodbye(out);
  goodbye.count("seq", cursor_).text("reason", reason);
  goodbye.close();
  frame.close();
  return out;
}

}  // namespace agentd::feed
