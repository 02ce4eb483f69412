// The header of a response as bytes: status line, Date, Connection, and how the body ends.
//
// Pure, but for the text of the date, which is kept for the second it is true. A control character in a
// header's value is written as a space, so that no value can start a line of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace agentd::http {

class DateText final {
 public:
  // "Sun, 06 Nov 1994 08:49:37 GMT"; valid until the next call.
  [[nodiscard]] std::string_view at(std::int64_t wall_ms);

 private:
  std::int64_t second_ = -1;
  std::string text_;
};

enum class Framing : std::uint8_t {
  kLength,      // Content-Length, of the response's body
  kChunked,     // Transfer-Encoding: chunked
  kUntilClose,  // neither, for HTTP/1.0
};

struct HeadOptions {
  Framing framing = Framing::kLength;
  bool keep_alive = true;
  std::string_view date = {};
};

// Content-Length, Transfer-Encoding, Date and Connection among the response's own headers are left out.
void append_head(std::string& out, const Response& response, const HeadOptions& options);

// 204 and 304 have none, and no length of one either.
[[nodiscard]] bool has_body(int status);

[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace agentd::http
