// Current: an immutable value that some thread replaces while others read it: each reader goes on with the one that it took.
//
//   Current<Pages> pages{…};
//   const auto now = pages.get();   // stays as it is, whatever comes
//
// Thread-safe. Cost: a lock for as long as it takes to copy a pointer.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace agentd {

template <class T>
class Current final {
 public:
  explicit Current(T value) : value_(std::make_shared<const T>(std::move(value))) {}

  [[nodiscard]] std::shared_ptr<const T> get() const {
    const MutexLock lock(mutex_);
    return value_;
  }
  void replace(T value) {
    auto next = std::make_shared<const T>(std::move(value));
    const MutexLock lock(mutex_);
    value_.swap(next);
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ AGENTD_GUARDED_BY(mutex_);
};

}  // namespace agentd
