#include "process/cgroups.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "base/log.h"

namespace agentd::process {
namespace {

constexpr char kDaemon[] = "/daemon";
constexpr std::string_view kChild = "child-";
constexpr int kPeriodUs = 100'000;  // of cpu.max, the kernel's own

std::unexpected<Error> unusable(const std::string& what) {
  return fail(Code::kUnavailable, what +
                                      "; let systemd hand the group over (Delegate=yes), or take `children` out of the "
                                      "configuration");
}

std::unexpected<Error> unusable(const std::string& file, int error) {
  return unusable(fmt::format("{}: {}", file, std::strerror(error)));
}

Result<Descriptor> open_file(const std::string& file) {
  Descriptor fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return unusable(file, errno);
  return fd;
}

// The kernel's files take a value by one write.
Status write_file(const std::string& file, const std::string& value) {
  const auto fd = open_file(file);
  if (!fd) return std::unexpected(fd.error());
  if (::write(fd->get(), value.data(), value.size()) < 0) return unusable(file, errno);
  return {};
}

Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return unusable(folder, errno);
  return {};
}

std::string read_file(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> controllers_for(const ChildLimits& limits) {
  std::vector<std::string> out;
  if (limits.memory > 0) out.emplace_back("memory");
  if (limits.processes > 0) out.emplace_back("pids");
  if (limits.cpu > 0) out.emplace_back("cpu");
  return out;
}

void remove_leftovers(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kChild)) left.push_back(entry.path().string());
  }
  for (const std::string& group : left) ::rmdir(group.c_str());
}

// "oom_kill 3" among lines.
bool has_oom_kill(const std::string& events) {
  std::istringstream lines(events);
  std::uint64_t count = 0;
  for (std::string name; lines >> name >> count;) {
    if (name == "oom_kill") return count > 0;
  }
  return false;
}

}  // namespace

Result<std::string> Cgroups::own_folder() {
  // "26 25 0:23 /root /sys/fs/cgroup rw … - cgroup2 cgroup2 rw"
  std::string root, mount;
  std::istringstream mounts(read_file("/proc/self/mountinfo"));
  for (std::string line; mount.empty() && std::getline(mounts, line);) {
    if (!line.contains(" - cgroup2 ")) continue;
    std::istringstream words(line);
    std::string skipped;
    words >> skipped >> skipped >> skipped >> root >> mount;
  }
  if (mount.empty()) return unusable("cgroup v2 is not mounted");
  std::istringstream groups(read_file("/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    std::string path = line.substr(3);
    if (root != "/" && path.starts_with(root)) path.erase(0, root.size());
    return path == "/" ? mount : mount + path;
  }
  return unusable("/proc/self/cgroup names no group of cgroup v2");
}

Result<Cgroups> Cgroups::set_up(std::string folder, const ChildLimits& limits) {
  const std::string known = " " + read_file(folder + "/cgroup.controllers") + " ";
  for (const std::string& controller : controllers_for(limits)) {
    std::istringstream words(known);
    bool is_there = false;
    for (std::string word; words >> word;) is_there = is_there || word == controller;
    if (!is_there) return unusable(fmt::format("{} has no controller for {}", folder, controller));
  }
  remove_leftovers(folder);
  if (Status made = make_folder(folder + kDaemon); !made) return std::unexpected(made.error());
  if (Status moved = write_file(folder + kDaemon + "/cgroup.procs", "0"); !moved) return std::unexpected(moved.error());
  for (const std::string& controller : controllers_for(limits)) {
    if (Status on = write_file(folder + "/cgroup.subtree_control", "+" + controller); !on)
      return std::unexpected(on.error());
  }
  return Cgroups(std::move(folder), limits);
}

std::string Cgroups::folder_of(std::uint64_t child) const { return fmt::format("{}/{}{}", folder_, kChild, child); }

Result<Descriptor> Cgroups::make(std::uint64_t child) const {
  const std::string group = folder_of(child);
  Status status = make_folder(group);
  const auto set = [&](const char* name, const std::string& value) {
    if (status) status = write_file(group + name, value);
  };
  if (limits_.memory > 0) {
    set("/memory.max", fmt::format("{}", limits_.memory));
    set("/memory.oom.group", "1");
    // There is none where swap is not accounted for.
    if (::access((group + "/memory.swap.max").c_str(), F_OK) == 0) set("/memory.swap.max", "0");
  }
  if (limits_.processes > 0) set("/pids.max", fmt::format("{}", limits_.processes));
  if (limits_.cpu > 0) set("/cpu.max", fmt::format("{:.0f} {}", limits_.cpu * kPeriodUs, kPeriodUs));
  if (!status) return std::unexpected(status.error());
  return open_file(group + "/cgroup.procs");
}

std::optional<std::string> Cgroups::end(std::uint64_t child) const {
  const std::string group = folder_of(child);
  const bool oom = limits_.memory > 0 && has_oom_kill(read_file(group + "/memory.events"));
  if (::rmdir(group.c_str()) != 0 && errno != ENOENT)
    log::debug("a group of a child is still there", {{"group", group}, {"why", std::strerror(errno)}});
  if (!oom) return std::nullopt;
  return fmt::format("killed for want of memory: children.memory is {} bytes", limits_.memory);
}

}  // namespace agentd::process
