// A small blocking HTTP client: one request, one answer, or one answer read piece by piece as it comes.
//
// Each call makes a connection of its own and holds the calling thread; calls on different threads share
// nothing. HTTP/1.1, no redirects, no proxy for a loopback host. A URL may also be `unix:///path/to/socket`.
// The certificate of an https server is always verified.
// Every wait has a deadline and sees `stop` at once. Errors: kUnavailable (nobody there, or cut before the
// answer was whole), kTimeout; any HTTP status is an answer, not an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/stop.h"

namespace agentd::client {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "POST";
  std::string url;
  Headers headers = {};
  std::string body = {};
  std::string socket = {};  // path of a unix socket to connect to, whatever the URL's host
  std::string ca = {};      // file of the CA certificates that https is verified against; "" = those of the system
};

struct Deadlines {
  std::int64_t connect_ms = 5'000;
  std::int64_t silence_ms = 30'000;  // without a byte from the server; 0 = no such deadline
  std::int64_t total_ms = 600'000;   // from the start to the last byte; 0 = no such deadline
};

struct ResponseHead {
  int status = 0;
  Headers headers = {};  // names in lower case
  // The first header of that (lower case) name, or "".
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  ResponseHead head;
  std::string body;  // at most 64 MiB, or the call fails
};

enum class StreamEnd : std::uint8_t {
  kComplete,  // the final chunk, or the last byte of the announced length, was read
  kCut,       // the connection ended before that
  kSilent,    // no byte for `silence_ms`
  kStopped,   // by the sink or by `stop`
};

// What a streamed answer is handed to. `head` comes once, before any `body`; false from either ends the call.
struct StreamSink {
  std::function<bool(const ResponseHead&)> head;
  std::function<bool(std::string_view)> body;
};

[[nodiscard]] Result<HttpResponse> http_request(const HttpRequest& request, const Deadlines& deadlines,
                                                const Stop& stop);

// An error means that no answer began (or that `total_ms` is over); after the head, the end says how it
// ended.
[[nodiscard]] Result<StreamEnd> http_stream(const HttpRequest& request, const Deadlines& deadlines, const Stop& stop,
                                            const StreamSink& sink);

}  // namespace agentd::client
