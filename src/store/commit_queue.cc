#include "store/commit_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace agentd::store {
namespace {

// What an operation weighs besides its body: the variant and its short strings.
constexpr std::size_t kOpBytes = sizeof(Op) + 128;

std::size_t weight(const Batch& batch) {
  std::size_t bytes = batch.size() * kOpBytes;
  for (const Op& op : batch) {
    bytes += std::visit(
        [](const auto& row) -> std::size_t {
          if constexpr (requires { row.body; }) return row.body.size();
          return 0;
        },
        op);
  }
  return bytes;
}

}  // namespace

CommitQueue::CommitQueue(Apply apply, QueueBounds bounds)
    : apply_(std::move(apply)), bounds_(bounds), thread_([this] { run(); }) {}

CommitQueue::~CommitQueue() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CommitQueue::push(Batch batch, std::function<void(Status)> done) {
  const std::size_t bytes = weight(batch);
  Pending pending{.batch = std::move(batch), .done = std::move(done), .bytes = bytes};
  if (admit(pending)) {
    changed_.notify_one();
  } else if (pending.done) {
    pending.done(fail(Code::kUnavailable, "the store is behind: too many writes wait; try again later"));
  }
}

bool CommitQueue::admit(Pending& pending) {
  const MutexLock lock(mutex_);
  // A batch over the bound by itself is let in when nothing else waits: it could never be written otherwise.
  if (batches_ > 0 && (batches_ >= bounds_.batches || bytes_ + pending.bytes > bounds_.bytes)) return false;
  ++batches_;
  bytes_ += pending.bytes;
  queue_.push_back(std::move(pending));
  return true;
}

std::vector<CommitQueue::Pending> CommitQueue::take_group() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && !stopping_) changed_.wait(mutex_);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), bounds_.group));
  std::vector<Pending> group(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return group;
}

void CommitQueue::run() {
  while (true) {
    std::vector<Pending> group = take_group();
    if (group.empty()) return;
    std::vector<Batch> batches;
    batches.reserve(group.size());
    std::size_t bytes = 0;
    for (Pending& pending : group) {
      batches.push_back(std::move(pending.batch));
      bytes += pending.bytes;
    }
    std::vector<Status> statuses = apply_(batches);
    AGENTD_CHECK(statuses.size() == group.size(), "a status for each batch");
    {
      const MutexLock lock(mutex_);
      batches_ -= group.size();
      bytes_ -= bytes;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i].done) group[i].done(std::move(statuses[i]));
    }
  }
}

}  // namespace agentd::store
