// Mutex and MutexLock: std::mutex with the annotations that let clang check who locks what (-Wthread-safety).
//
//   Mutex mutex_;
//   Ring ring_ AGENTD_GUARDED_BY(mutex_);   // reading it without the lock does not compile
//
// Thread-safe. Cost: that of std::mutex. The annotations are nothing to other compilers.
#pragma once

#include <mutex>

#if defined(__clang__)
#define AGENTD_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define AGENTD_THREAD_ANNOTATION(x)
#endif

#define AGENTD_CAPABILITY(name) AGENTD_THREAD_ANNOTATION(capability(name))
#define AGENTD_SCOPED_CAPABILITY AGENTD_THREAD_ANNOTATION(scoped_lockable)
#define AGENTD_GUARDED_BY(mutex) AGENTD_THREAD_ANNOTATION(guarded_by(mutex))
#define AGENTD_REQUIRES(mutex) AGENTD_THREAD_ANNOTATION(requires_capability(mutex))
#define AGENTD_ACQUIRE(...) AGENTD_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define AGENTD_RELEASE(...) AGENTD_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

namespace agentd {

class AGENTD_CAPABILITY("mutex") Mutex {
 public:
  void lock() AGENTD_ACQUIRE() { mutex_.lock(); }
  void unlock() AGENTD_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class AGENTD_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) AGENTD_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() AGENTD_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace agentd
