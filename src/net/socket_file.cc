#include "net/socket_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace agentd::net {

namespace {

constexpr int kTries = 100;
constexpr int kBetweenTriesMs = 10;

std::unexpected<Error> cannot_listen(const std::string& path, std::string_view why) {
  return fail(Code::kUnavailable, fmt::format("cannot listen on unix://{}: {}", path, why));
}

std::unexpected<Error> cannot_listen(const std::string& path, int number) {
  return cannot_listen(path, ::strerrordesc_np(number));
}

// False when the path is too long for a socket.
bool put_path(sockaddr_un& address, const std::string& path) {
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

Descriptor unix_socket() { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// Of the folder of `path`, for as long as the descriptor is open: whether a name there is stale, and whose it is then, is
// for one process at a time. A lock on the folder leaves nothing behind.
Result<Descriptor> lock_folder(const std::string& path) {
  Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return cannot_listen(path, errno);
  for (int tries = 1; ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return cannot_listen(path, errno);
    if (tries == kTries) {
      return cannot_listen(path, "another program keeps its folder locked: stop it or choose another path");
    }
    ::poll(nullptr, 0, kBetweenTriesMs);
  }
  return folder;
}

// A folder that only this user can enter, for as long as this lives; with one socket in it, perhaps.
class Staging final {
 public:
  explicit Staging(const std::string& beside) : folder_(folder_of(beside) + ".XXXXXX") {
    made_ = ::mkdtemp(folder_.data()) != nullptr;
  }
  ~Staging() {
    if (!made_) return;
    ::unlink(socket().c_str());
    ::rmdir(folder_.c_str());
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] std::string socket() const { return folder_ + "/s"; }

 private:
  std::string folder_;
  bool made_;
};

// Removes a socket that nobody listens on; an error when something else is in the way.
Status make_room(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return cannot_listen(path, errno);
  }
  if (!S_ISSOCK(there.st_mode)) {
    return cannot_listen(path, "there is something that is no socket, which is left alone: choose another path");
  }
  sockaddr_un address{};
  if (!put_path(address, path)) return cannot_listen(path, ENAMETOOLONG);
  const Descriptor probe = unix_socket();
  if (::connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return cannot_listen(path, errno);
  }
  return cannot_listen(path, "it is in use: stop the other process or choose another path");
}

}  // namespace

void SocketFile::remove() {
  const std::string path = std::exchange(path_, {});
  const Descriptor pin = std::move(pin_);
  struct stat ours{};
  struct stat there{};
  if (path.empty() || ::fstat(pin.get(), &ours) != 0 || ::lstat(path.c_str(), &there) != 0) return;
  if (there.st_dev == ours.st_dev && there.st_ino == ours.st_ino) ::unlink(path.c_str());
}

Result<SocketFile::Listening> SocketFile::listen(const std::string& path) {
  const auto lock = lock_folder(path);
  if (!lock) return std::unexpected(lock.error());
  if (const Status room = make_room(path); !room) return std::unexpected(room.error());
  const Staging staging(path);
  if (!staging.made()) return cannot_listen(path, errno);
  const std::string staged = staging.socket();
  sockaddr_un address{};
  // Both, for clients have to name the one and bind() the other.
  if (!put_path(address, path) || !put_path(address, staged)) return cannot_listen(path, ENAMETOOLONG);

  Listening out{.fd = unix_socket(), .file = {}};
  if (!out.fd || ::bind(out.fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(staged.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(out.fd.get(), SOMAXCONN) != 0) {
    return cannot_listen(path, errno);
  }
  Descriptor pin(::open(staged.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!pin || ::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    return cannot_listen(path, errno);
  }
  out.file.path_ = path;
  out.file.pin_ = std::move(pin);
  return out;
}

}  // namespace agentd::net
