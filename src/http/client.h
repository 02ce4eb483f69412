// Client: the daemon's requests to elsewhere: models, MCP servers, peers, webhooks. One libcurl multi handle on a loop.
//
//   start(request, receiver) --> head once --> body piece by piece --> done once
//
// The gate is here and nowhere else: the address is checked when a connection to it is made, after the name was resolved, so a name
// that resolves to something else the second time gains nothing (http/address.h). No redirect is followed, no proxy is taken from the
// environment. Certificates are always verified. Confined to its loop's thread, and never blocks it (names are resolved on a thread of
// libcurl's). Every wait has a deadline.
// Connections are kept and used again, but none of kAnywhere by a request of kPublic; HTTP/1.1. When one that was kept dies before the answer,
// an idempotent request is sent again on a new one, and any other fails: what a POST does is not done twice.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "net/loop.h"

namespace agentd::http {

// Whose word the URL is, and so where it may lead.
enum class Reach : std::uint8_t {
  kAnywhere,  // the operator's, from the configuration: any address
  kPublic,    // somebody else's: no loopback, private, link-local, multicast or other special address, of IPv4 or IPv6
};

struct OutboundDeadlines {
  std::int64_t connect_ms = 10'000;     // name, TCP and TLS; at least 1
  std::int64_t first_byte_ms = 60'000;  // from the start to the head of the answer; 0 = none
  std::int64_t silence_ms = 60'000;     // between two pieces of the body; 0 = none
  std::int64_t total_ms = 600'000;      // from the start to the last byte; 0 = none
};

struct OutboundRequest {
  std::string method = "POST";
  std::string url;  // http:// or https://
  Headers headers = {};
  std::string body = {};
  Reach reach = Reach::kPublic;
  std::string ca = {};     // file of the CAs that https is verified against; "" = those of the system
  std::string proxy = {};  // http:// or https:// URL of a proxy, which then is what `reach` is about; "" = none
  std::uint64_t most_bytes = 64U << 20U;  // of the answer's body
  OutboundDeadlines deadlines = {};
};

struct ResponseHead {
  int status = 0;
  Headers headers = {};
  // The first header of that name, without case; "" for none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Called on the loop, never within start(). `head` and `body` may be empty.
struct Receiver {
  std::function<void(const ResponseHead&)> head;  // not of 1xx
  std::function<void(std::string_view)> body;
  // The whole answer was read, whatever its status; or kPermissionDenied (the gate), kTimeout, kUnavailable (nobody there, no trust in
  // it, cut before the end, longer than `most_bytes`), kInvalidParams (no such URL, or a method or header that HTTP has not). The
  // message names host and port, never the path, the query or the value of a header.
  std::move_only_function<void(Status)> done;
};

class EasyTransfer;
class MultiHandle;

// One request under way. Destroying it ends it: nothing is called any more, from within a callback too.
class Transfer final {
 public:
  Transfer() = default;
  ~Transfer();
  Transfer(Transfer&&) noexcept;
  Transfer& operator=(Transfer&&) noexcept;

 private:
  friend class Client;
  explicit Transfer(std::shared_ptr<EasyTransfer> transfer);
  std::shared_ptr<EasyTransfer> transfer_;
};

class Client final {
 public:
  explicit Client(net::Loop& loop);  // which outlives it
  ~Client();                         // after all transfers are gone; in a callback of one, too
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Transfer start(OutboundRequest request, Receiver receiver);

 private:
  net::Loop& loop_;
  // A kept connection belongs to one of them: a private address that was let by for kAnywhere is not there for kPublic.
  std::shared_ptr<MultiHandle> anywhere_;
  std::shared_ptr<MultiHandle> public_;
};

}  // namespace agentd::http
