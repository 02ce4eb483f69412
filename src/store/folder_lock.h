// FolderLock: the store's folder, made when it is missing and held by one daemon at a time.
//
// The lock is flock() on `<folder>/agentd.lock`, so the kernel lets go of it however the process ends; the
// pid in the file is only for the message to the second daemon. Values; any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace agentd::store {

class FolderLock final {
 public:
  // Makes the folder and its missing parents (mode 0700) and locks it. Errors: kUnavailable, one line.
  [[nodiscard]] static Result<FolderLock> take(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace agentd::store
