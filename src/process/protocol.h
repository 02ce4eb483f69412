// What the daemon, the nursery and the supervisors say to each other.
//
// daemon -> nursery: one byte with the descriptors of LaunchFds. Then, over the control socket that is one of
// them:
//   command    -> daemon  kStarted, its first words; then kNoGroup, kNoFolder or kNoProgram when it comes to nothing
//   nursery or supervisor -> daemon  kNoProcess, instead of kStarted
//   supervisor -> daemon  kEnded when all are dead; then the end of the stream
//   daemon -> supervisor  kTerminate: down the kill ladder; the end of the stream: kill everything now
// All sockets are SOCK_SEQPACKET: a message comes whole or not at all. They never leave this machine or this
// image, so plain structs go over them.
#pragma once

#include <cstdint>

#include "base/descriptor.h"
#include "base/result.h"
#include "process/child.h"

namespace agentd::process {

struct Report {
  enum class Kind : std::uint32_t { kStarted, kNoProcess, kNoGroup, kNoFolder, kNoProgram, kEnded };
  Kind kind;
  std::int32_t value;  // the pid; an errno four times; the status of waitpid
};

inline constexpr char kTerminate = 'T';
inline constexpr std::int64_t kGraceMs = 1'000;  // between SIGTERM and SIGKILL
inline constexpr std::int64_t kSweepMs = 2'000;  // for the dying of what was killed

struct LaunchFds {
  int command, in, out, err, control;
  int group;  // the command writes "0" there before it begins: into a group, or nowhere
};

// The command in shared memory, readable without an allocation: a header, room for the two arrays that exec
// needs, and the strings. `pack_command` expects no NUL byte in any string.
[[nodiscard]] Result<Descriptor> pack_command(const ChildSpec& spec);

struct Command {
  char** argv;
  char** env;
  const char* cwd;  // "" = stay
};
// Maps it for the life of the process. Async-signal-safe. argv is null when that fails (errno says why).
[[nodiscard]] Command map_command(int fd);

}  // namespace agentd::process
