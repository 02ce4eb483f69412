#include "store/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

namespace agentd::store {
namespace {

namespace fs = std::filesystem;

// The entry of a new folder is durable only when its parent is.
void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

Status make_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  for (fs::path path = folder; !path.empty(); path = path.parent_path()) {
    std::error_code error;
    if (fs::exists(path, error) || path == path.parent_path()) break;
    missing.push_back(path);
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    if (::mkdir(path->c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(Code::kUnavailable,
                  fmt::format("cannot make the folder {}: {}", path->string(), std::strerror(errno)));
    }
    sync_folder(path->has_parent_path() ? path->parent_path() : fs::path("."));
  }
  return {};
}

std::string holder_of(int fd) {
  char text[24] = {};
  const ssize_t size = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "store/" is "store"
  if (auto made = make_folders(path); !made) return std::unexpected(made.error());
  const int fd = ::open((path / "agentd.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(Code::kUnavailable,
                fmt::format("cannot write to the folder {}: {}; it must belong to the user that runs agentd", folder,
                            std::strerror(errno)));
  }
  FolderLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail(Code::kUnavailable,
                fmt::format("{} is in use by agentd with pid {}; stop that one, or give this one another folder",
                            folder, holder_of(fd)));
  }
  // Only for the message above: a full disk, which has no room for it, is no reason not to start.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd, 0) == 0) std::ignore = ::pwrite(fd, pid.data(), pid.size(), 0);
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

}  // namespace agentd::store
