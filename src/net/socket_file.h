// SocketFile: the name of a listening unix socket in the file system.
//
// Appears at once and complete: the socket is bound in a folder of mode 0700 beside the path, made 0600 and renamed into
// place, so there is no moment in which others could open it, and none in which it is there and nobody listens. A
// socket that is there already is replaced when nobody listens on it, by one process where several try: its folder is
// locked meanwhile. What is no socket is never removed. The name goes with its owner, if it is still that of this socket.
// A value that moves; confined to one thread.
#pragma once

#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace agentd::net {

class SocketFile final {
 public:
  struct Listening;

  SocketFile() = default;
  ~SocketFile() { remove(); }
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})), pin_(std::move(other.pin_)) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(pin_, other.pin_);
    return *this;
  }

  // `path` is absolute. Errors: kUnavailable, with the path.
  [[nodiscard]] static Result<Listening> listen(const std::string& path);
  void remove();

 private:
  std::string path_;  // "" = none
  Descriptor pin_;    // of the file itself, so that no other one can have its number
};

struct SocketFile::Listening {
  Descriptor fd;  // non-blocking
  SocketFile file;
};

}  // namespace agentd::net
