#include "net/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "net/socket_file.h"

namespace agentd::net {

namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr std::int64_t kPauseMs = 100;
constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kUnix = "unix://";

struct Place {
  std::string host;
  std::uint16_t port = 0;
};

std::string error_text(int number) { return ::strerrordesc_np(number); }

// Of http(s)://host:port or http(s)://[v6]:port, with an optional slash at the end.
Result<Place> parse_url(const std::string& url) {
  const auto bad = [&url] {
    return fail(Code::kConfig,
                fmt::format("cannot listen on \"{}\": expected http://address:port, such as http://127.0.0.1:8420, or "
                            "unix:///path",
                            url));
  };
  const std::string_view scheme = url.starts_with(kHttps) ? kHttps : kHttp;
  std::string_view rest = url;
  if (!rest.starts_with(scheme)) return bad();
  rest.remove_prefix(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);

  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = rest.substr(0, colon);
  const std::string_view digits = rest.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || bracketed != (host.find(':') != std::string_view::npos)) return bad();

  Place place{.host = std::string(host)};
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, place.port);
  if (error != std::errc{} || stop != end) return bad();
  return place;
}

// The address without its scope and port; a v4 address in v6 clothes as what it is, so that a source has one
// name.
std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      inet_ntop(AF_INET, &v6.s6_addr[12], text.data(), text.size());
    } else {
      inet_ntop(AF_INET6, &v6, text.data(), text.size());
    }
  }
  return text.data();
}

bool is_loopback(std::string_view address) { return address == "::1" || address.starts_with("127."); }

// Nothing of a unix peer that is neither this user nor root: it is not to be served.
std::optional<Peer> unix_peer(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  if (credentials.uid != 0 && credentials.uid != ::geteuid()) {
    log::warn("closed a connection of another user", {{"uid", credentials.uid}});
    return std::nullopt;
  }
  return Peer{.address = "unix", .uid = static_cast<long>(credentials.uid)};
}

std::optional<Peer> peer_of(int fd, const sockaddr_storage& address) {
  if (address.ss_family == AF_UNIX) return unix_peer(fd);
  Peer peer{.address = address_text(address)};
  if (is_loopback(peer.address)) {
    sockaddr_storage local{};
    socklen_t size = sizeof local;
    peer.loopback =
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0 && is_loopback(address_text(local));
  }
  return peer;
}

std::string bound_url(std::string_view scheme, int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET) {
    const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    return fmt::format("{}{}:{}", scheme, address_text(address), port);
  }
  const auto port = ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return fmt::format("{}[{}]:{}", scheme, address_text(address), port);
}

// Errors of accept4 that will not go away by accepting again at once.
bool out_of_resources(int number) {
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

std::unexpected<Error> cannot_listen(const Place& place, int number) {
  if (number == EADDRINUSE) {
    return fail(
        Code::kUnavailable,
        fmt::format("port {} on {} is in use: stop the other process or choose another port", place.port, place.host));
  }
  return fail(Code::kUnavailable,
              fmt::format("cannot listen on port {} of {}: {}", place.port, place.host, error_text(number)));
}

// A listening socket at the first address that the name stands for.
Result<Descriptor> open_socket(const Place& place) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(place.host.c_str(), fmt::format_int(place.port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(Code::kUnavailable, fmt::format("cannot listen on {}: {}", place.host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);

  Descriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return cannot_listen(place, errno);
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Accepted sockets inherit it, which saves a call for each.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (found->ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return cannot_listen(place, errno);
  }
  return fd;
}

}  // namespace

struct Listener::Impl {
  Impl(Descriptor descriptor, std::string where) : fd(std::move(descriptor)), url(std::move(where)) {}

  void close() {
    watch.reset();
    pause.reset();
    file.remove();
    fd.reset();
  }

  void wait() {
    watch->wait_readable([this] { accept_some(); });
  }

  void accept_some() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      Descriptor socket(
          ::accept4(fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket) {
        starved = false;
        if (auto peer = peer_of(socket.get(), address)) {
          peer->tls = tls != nullptr;
          accepted(std::move(socket), *std::move(peer), tls ? tls->accept() : nullptr);
        }
        if (!fd) return;  // closed by the callback
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      if (out_of_resources(errno)) return rest(errno);
      // Anything else is the trouble of one connection that died in the queue.
    }
    wait();
  }

  void rest(int number) {
    if (!std::exchange(starved, true)) {
      log::warn("cannot accept connections", {{"listener", url}, {"reason", error_text(number)}});
    }
    pause->arm(kPauseMs, [this] { accept_some(); });
  }

  Descriptor fd;
  SocketFile file;  // of a unix socket
  std::string url;
  std::shared_ptr<TlsContext> tls;  // none: plain
  Accepted accepted;
  std::optional<Watch> watch;
  std::optional<Timer> pause;
  bool starved = false;  // said so in the log, and accepted nothing since
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(const std::string& url, std::shared_ptr<TlsContext> tls) {
  if (url.starts_with(std::string(kUnix) + "/")) {
    auto socket = SocketFile::listen(url.substr(kUnix.size()));
    if (!socket) return std::unexpected(socket.error());
    auto impl = std::make_unique<Impl>(std::move(socket->fd), url);
    impl->file = std::move(socket->file);
    return std::unique_ptr<Listener>(new Listener(std::move(impl)));
  }
  const auto place = parse_url(url);
  if (!place) return std::unexpected(place.error());
  auto fd = open_socket(*place);
  if (!fd) return std::unexpected(fd.error());
  const bool sealed = url.starts_with(kHttps);
  if (sealed && !tls) return fail(Code::kConfig, fmt::format("cannot listen on {} without a certificate", url));
  std::string bound = bound_url(sealed ? kHttps : kHttp, fd->get());
  auto impl = std::make_unique<Impl>(*std::move(fd), std::move(bound));
  if (sealed) impl->tls = std::move(tls);
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

void Listener::start(Loop& loop, Accepted accepted) {
  impl_->accepted = std::move(accepted);
  impl_->watch.emplace(loop, impl_->fd.get());
  impl_->pause.emplace(loop);
  impl_->wait();
}

void Listener::close() { impl_->close(); }

const std::string& Listener::url() const { return impl_->url; }

}  // namespace agentd::net
