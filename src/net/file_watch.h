// FileWatch: says when files that a person edits may have changed, by whatever an editor or a deployment does: written and
// closed, renamed into place, or reached by a link that points elsewhere now.
//
//   saved --> quiet for a moment (several saves are one) --> changed()
//
// A file that is still open for writing is not told of before it is closed. A folder stands for the files in it. What is
// not there yet is watched for where its folder is. A watch that the system refuses is logged once, and is none.
// Confined to the loop's thread. Cost: one descriptor, and nothing while nothing changes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"

namespace agentd::net {

class FileWatch final {
 public:
  FileWatch(Loop& loop, std::function<void()> changed);
  ~FileWatch();

  // Absolute paths, in the place of those before.
  void watch(const std::vector<std::string>& paths);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::net
