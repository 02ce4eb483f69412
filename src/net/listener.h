// Listener: a bound, listening socket, and what it tells of each connection it accepts.
//
// Confined to its loop's thread. Accepted descriptors are non-blocking, close-on-exec, TCP_NODELAY. When the
// process is out of descriptors, it pauses accepting for 100 ms instead of spinning. A unix socket is for this user and
// root: other peers are closed. Its file is removed by close().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/tls.h"

namespace agentd::net {

struct Peer {
  std::string address;    // "127.0.0.1" (also of ::ffff:127.0.0.1), "::1"; "unix" for a unix socket
  bool loopback = false;  // the peer and the address it came to are both loopback
  bool tls = false;       // it speaks https
  long uid = -1;          // of a unix peer (SO_PEERCRED)
  std::shared_ptr<const Certificate> certificate = nullptr;  // that a TLS peer showed, verified; null if none
};

// A connection and whose it is; with TLS to be spoken on it, or none.
using Accepted = std::function<void(Descriptor, Peer, std::unique_ptr<TlsStream>)>;

class Listener final {
 public:
  // `url`: http://127.0.0.1:8420, https://[::1]:0 (with `tls`), unix:///run/agentd.sock. Errors: kUnavailable ("port
  // 8420 on 127.0.0.1 is in use: …"), kConfig (not a URL that can be listened on).
  [[nodiscard]] static Result<std::unique_ptr<Listener>> open(const std::string& url,
                                                              std::shared_ptr<TlsContext> tls = nullptr);
  ~Listener();

  // `accepted` may close() this listener, but not destroy it.
  void start(Loop& loop, Accepted accepted);
  void close();
  // As bound: the port chosen for port 0 filled in.
  [[nodiscard]] const std::string& url() const;

 private:
  struct Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::net
