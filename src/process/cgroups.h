// Cgroups: bounds on what each child, with all below it, may use, by cgroup v2 where the daemon may make groups.
//
//   <the daemon's group>/daemon     the daemon, and who supervises
//                       /child-<n>  a child and all below it
//
// A group with controllers for its children may hold no process itself, so the daemon moves to one of its own first: make this early,
// before other processes of the daemon's are. What an earlier life left behind is removed. Confined to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace agentd::process {

// Of each child; 0 = none.
struct ChildLimits {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t processes = 0;
  double cpu = 0;  // processors
  [[nodiscard]] bool any() const { return memory > 0 || processes > 0 || cpu > 0; }
};

class Cgroups final {
 public:
  // `folder`: of the daemon's group. Errors: kUnavailable, with what is missing and what to do.
  [[nodiscard]] static Result<Cgroups> set_up(std::string folder, const ChildLimits& limits);
  // The folder of this process's group. Errors: kUnavailable.
  [[nodiscard]] static Result<std::string> own_folder();

  // A group for the child of this number: who writes "0" there is in it. Errors: kUnavailable.
  [[nodiscard]] Result<Descriptor> make(std::uint64_t child) const;
  // All in it are dead. Why some of them were killed, when it was for want of memory.
  [[nodiscard]] std::optional<std::string> end(std::uint64_t child) const;

 private:
  Cgroups(std::string folder, const ChildLimits& limits) : folder_(std::move(folder)), limits_(limits) {}
  [[nodiscard]] std::string folder_of(std::uint64_t child) const;

  std::string folder_;
  ChildLimits limits_;
};

}  // namespace agentd::process
