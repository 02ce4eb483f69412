// TLS of accepted connections: 1.2 and later, ALPN http/1.1, a client's certificate when a CA for it is given and the
// client shows one. The only part of the tree that sees OpenSSL's TLS.
//
// TlsContext: certificate, key and client CA of listeners, from files, which are looked at again when they change.
// Confined to the thread that accepts. A change that cannot be used is logged once, and what was in use stays.
//
// TlsStream: one connection without its socket. Confined to one thread, which may be another one.
//
//     socket --> unseal() --> plain text        plain text --> seal() --> outgoing() --> socket, then sent()
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace agentd::net {

// What a client's certificate says, which was verified against the client CA.
struct Certificate {
  std::string cn;                 // of the subject; "" when there is none, or more than one
  std::vector<std::string> sans;  // names of type DNS, URI and e-mail, as text
};

class TlsStream final {
 public:
  enum class State : std::uint8_t {
    kHandshake,
    kOpen,
    kEnded,   // the peer said that it sends no more
    kBroken,  // what goes out may be an alert that says why
  };
  static constexpr std::size_t kMost = 64U << 10U;  // taken by one seal()

  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Takes what came from the socket, and appends what it says to `plain`. May add to outgoing().
  void unseal(std::string_view bytes, std::string& plain);
  // Takes up to kMost bytes of the pieces into outgoing(), and returns how many. 0 unless open or ended.
  [[nodiscard]] std::size_t seal(std::span<const iovec> pieces);
  // Says that nothing more is sent. False when that was said, or cannot be.
  bool finish();

  [[nodiscard]] State state() const;
  [[nodiscard]] std::string_view outgoing() const;  // for the socket
  void sent(std::size_t bytes);                     // the socket took the first of them
  // Null before the end of the handshake, and for a client that showed none.
  [[nodiscard]] std::shared_ptr<const Certificate> certificate() const;

 private:
  friend class TlsContext;
  struct Impl;
  explicit TlsStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Paths of PEM files. The certificate's file holds the chain, the daemon's own first.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;  // "" = clients are not asked for a certificate
};

class TlsContext final {
 public:
  // Errors: kConfig, with the file and what is wrong. The clock outlives it.
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> load(TlsFiles files, const Clock& clock);
  ~TlsContext();

  // For a connection that was accepted. Looks at the files once a second at most.
  [[nodiscard]] std::unique_ptr<TlsStream> accept();

 private:
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentd::net
