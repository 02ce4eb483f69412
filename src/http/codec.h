// RequestParser: the bytes of one HTTP/1.x request in, a Request or a refusal out. Does no I/O.
//
// Strict where two readers of the same bytes could disagree about where a request ends (smuggling): refused
// with 400 are a Transfer-Encoding other than exactly "chunked", one beside a Content-Length or in HTTP/1.0,
// more than one Content-Length or one that is not plain digits, folded lines, a missing or second Host, a
// malformed target or chunk. 413: body over the limit; where the header says so, once that can be looked at. 417: an Expect
// other than 100-continue. 431: header or trailer over a limit. 505: a version other than 1.0 and 1.1.
// Trailers are checked and dropped. One parser reads one request. Costs one allocation besides the request's
// own strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace agentd::http {

struct ParserLimits {
  std::size_t header_bytes = 32U << 10U;
  std::size_t header_fields = 100;
  std::size_t body_bytes = 2U << 20U;
};

class RequestParser final {
 public:
  enum class State : std::uint8_t {
    kHead,       // the header is not complete
    kBody,       // request() is, except for its body
    kDone,       // request() is complete; the bytes behind it are not consumed
    kOversized,  // as in kBody, but the body is announced to be over the limit: see refusal(), nothing more is read
    kRefused,    // see refusal(); nothing after it can be understood
  };
  struct Refusal {
    int status = 400;
    std::string reason;
  };

  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();

  // `bytes` is everything that was not consumed yet; returns how many of them are now. Returns once behind
  // the header, so that it can be looked at before the body is read, and when it needs more.
  std::size_t feed(std::string_view bytes);

  [[nodiscard]] State state() const;
  [[nodiscard]] const Refusal& refusal() const;
  [[nodiscard]] Request& request();
  // What follows is known once the header is complete.
  [[nodiscard]] bool http10() const;
  [[nodiscard]] bool keep_alive() const;  // never of HTTP/1.0
  [[nodiscard]] bool expects_continue() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace agentd::http
