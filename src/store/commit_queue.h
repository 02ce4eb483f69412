// CommitQueue: the store's thread, and the bounded line of batches before it. Both stores stand behind one.
//
// Thread-safe. push() never blocks: over the bounds it refuses. The thread takes whatever waits, at most
// 1,024 batches, as one group, hands it to `apply` and then calls each `done` in the order of the pushes; so
// the cost of one fsync is shared by all that came while the last one ran. Destruction applies what is queued
// first.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "store/store.h"

namespace agentd::store {

struct QueueBounds {
  std::size_t batches = 16'384;
  std::size_t bytes = 64U << 20U;
  std::size_t group = 1'024;  // batches applied together
};

class CommitQueue final {
 public:
  // One status per batch of the group. Called on the queue's thread; does not throw.
  using Apply = std::function<std::vector<Status>(const std::vector<Batch>& group)>;

  explicit CommitQueue(Apply apply, QueueBounds bounds = {});
  ~CommitQueue();
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  void push(Batch batch, std::function<void(Status)> done);

 private:
  struct Pending {
    Batch batch;
    std::function<void(Status)> done;
    std::size_t bytes = 0;
  };

  void run();
  [[nodiscard]] std::vector<Pending> take_group();  // waits; empty = the end
  [[nodiscard]] bool admit(Pending& pending);       // moves from it when there is room

  const Apply apply_;
  const QueueBounds bounds_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Pending> queue_ AGENTD_GUARDED_BY(mutex_);
  std::size_t batches_ AGENTD_GUARDED_BY(mutex_) = 0;  // queued or being applied
  std::size_t bytes_ AGENTD_GUARDED_BY(mutex_) = 0;    // of the same
  bool stopping_ AGENTD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace agentd::store
