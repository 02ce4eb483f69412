// Nursery: the process that forks the supervisors, seen from the daemon.
//
// It is forked when the daemon is young, so that a child costs the fork of a small process with one thread
// and not of a large one with many, and so that no child keeps old copies of the daemon's memory. When it is
// gone it is forked again by the next launch. Confined to one thread.
#pragma once

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"
#include "process/protocol.h"

namespace agentd::process {

class Nursery final {
 public:
  Nursery();   // a failure to fork shows at the first launch
  ~Nursery();  // ends it; the supervisors live on until their control sockets are closed
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Hands the descriptors over; the caller closes its own copies. What became of it comes over the control
  // socket.
  [[nodiscard]] Status launch(const LaunchFds& fds);

 private:
  [[nodiscard]] Status start();
  void end();

  Descriptor socket_;
  pid_t pid_ = -1;
};

}  // namespace agentd::process
