#include "net/file_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/log.h"

namespace agentd::net {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kQuietMs = 100;
// Not IN_MODIFY: a file that is being written is not whole.
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR;
constexpr std::size_t kReadBytes = 16U << 10U;

// A name that was made without being written: a link, or a folder. What else is made is told of when it is closed.
bool is_whole(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  return fs::is_symlink(status) || fs::is_directory(status);
}

}  // namespace

struct FileWatch::Impl {
  Impl(Loop& loop, std::function<void()> on_change)
      : changed(std::move(on_change)),
        inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        readable(loop, inotify.get()),
        quiet(loop) {}

  // Watches the folder for `name` in it; "" for whatever is in it.
  void add(const fs::path& folder, const std::string& name) {
    const int watch = ::inotify_add_watch(inotify.get(), folder.c_str(), kEvents);
    if (watch < 0) {
      if (errno == ENOENT || errno == ENOTDIR || std::exchange(complained, true)) return;
      log::warn("files cannot be watched for changes; SIGHUP still has them read again",
                {{"folder", folder.string()}, {"reason", std::strerror(errno)}});
      return;
    }
    folders[watch].path = folder;
    folders[watch].names.insert(name);
  }

  // Where the path itself stands, and each place that it leads through.
  void add_path(fs::path path) {
    constexpr int kMostLinks = 40;
    for (int links = 0; links < kMostLinks; ++links) {
      add(path.parent_path(), path.filename());
      std::error_code error;
      if (!fs::is_symlink(path, error)) break;
      path = (path.parent_path() / fs::read_symlink(path, error)).lexically_normal();
      if (error) return;
    }
    std::error_code error;
    if (fs::is_directory(path, error)) add(path, "");
    // A link may stand in the middle: data -> 2026-11-30, and the file is data/agentd.yaml.
    const fs::path real = fs::canonical(path, error);
    if (!error && real != path) add(real.parent_path(), real.filename());
  }

  [[nodiscard]] bool concerns(const inotify_event& event) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) return true;
    const auto at = folders.find(event.wd);
    if (at == folders.end() || event.len == 0) return false;
    const std::string name(static_cast<const char*>(event.name));
    const fs::path path = at->second.path / name;
    const auto& names = at->second.names;
    if ((event.mask & IN_CREATE) != 0 && !is_whole(path)) return false;
    // What has gone may be on its way back; of a folder it is one less.
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return names.contains("");
    std::error_code error;
    return names.contains(name) || names.contains("") || fs::is_symlink(fs::symlink_status(path, error));
  }

  void read() {
    bool any = false;
    alignas(inotify_event) std::array<char, kReadBytes> bytes;
    for (ssize_t count = 0; (count = ::read(inotify.get(), bytes.data(), bytes.size())) > 0;) {
      for (const char* at = bytes.data(); at < bytes.data() + count;) {
        const auto* event =
            reinterpret_cast<const inotify_event*>(at);  // NOLINT(*-reinterpret-cast): the kernel's own layout
        any = concerns(*event) || any;
        at += sizeof(inotify_event) + event->len;
      }
    }
    if (any) quiet.arm(kQuietMs, [this] { changed(); });
    readable.wait_readable([this] { read(); });
  }

  struct Folder {
    fs::path path;
    std::set<std::string> names;
  };

  const std::function<void()> changed;
  const Descriptor inotify;
  std::map<int, Folder> folders;  // by watch
  bool complained = false;
  Watch readable;
  Timer quiet;
};

FileWatch::FileWatch(Loop& loop, std::function<void()> changed)
    : impl_(std::make_unique<Impl>(loop, std::move(changed))) {
  impl_->readable.wait_readable([impl = impl_.get()] { impl->read(); });
}

FileWatch::~FileWatch() = default;

void FileWatch::watch(const std::vector<std::string>& paths) {
  const auto before = std::exchange(impl_->folders, {});
  for (const std::string& path : paths) impl_->add_path(path);
  for (const auto& [watch, folder] : before) {
    if (!impl_->folders.contains(watch)) ::inotify_rm_watch(impl_->inotify.get(), watch);
  }
}

}  // namespace agentd::net
