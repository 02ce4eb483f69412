// What of HTTP/1.1 a load generator needs: the address of a server, the bytes of a request, and the payload of a
// chunked body. Strings and values; no sockets but for the look-up of a name.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ssebench {

struct Url {
  std::string host = "127.0.0.1", port = "80", target = "/";
};

Url parse_url(std::string_view text);  // http:// only; ends the program on anything else
sockaddr_in resolve(const Url& url);   // the first IPv4 address; ends the program when there is none

struct Request {
  const Url& url;
  const std::vector<std::string>& headers;
  std::string_view accept;
  bool post = false;
  std::string body;           // of a POST
  std::string index;          // what stands for {i} in target, headers and body
  std::string last_event_id;  // none when empty
};
std::string to_bytes(Request request);

void replace_all(std::string& text, std::string_view from, std::string_view to);

// Turns raw bytes of a body into payload, in place. A body that is not chunked passes as it is.
class Dechunker final {
 public:
  explicit Dechunker(bool chunked = false) : chunked_(chunked) {}

  std::size_t feed(char* bytes, std::size_t count);  // how many of the bytes, from the first, are payload now
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State { kSize, kData, kDataEnd, kDone };
  void size_byte(char byte);

  bool chunked_;
  State state_ = State::kSize;
  std::uint64_t remaining_ = 0;
  bool in_extension_ = false, has_digits_ = false;
};

}  // namespace ssebench
