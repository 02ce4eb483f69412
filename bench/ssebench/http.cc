#include "ssebench/http.h"

#include <netdb.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "ssebench/options.h"

namespace ssebench {

Url parse_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) die("only http:// URLs are supported");
  text.remove_prefix(kScheme.size());
  Url url;
  const std::size_t slash = text.find('/');
  if (slash != text.npos) url.target = text.substr(slash);
  std::string_view authority = text.substr(0, slash);
  if (const std::size_t colon = authority.rfind(':'); colon != authority.npos) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  url.host = authority;
  return url;
}

sockaddr_in resolve(const Url& url) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET, hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found); error != 0) {
    die("resolve " + url.host + ": " + gai_strerror(error));
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  freeaddrinfo(found);
  return address;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

std::string to_bytes(Request request) {
  replace_all(request.body, "{i}", request.index);
  std::string target = request.url.target;
  replace_all(target, "{i}", request.index);
  std::string bytes = (request.post ? "POST " : "GET ") + target + " HTTP/1.1\r\nHost: " + request.url.host + ":" +
                      request.url.port + "\r\nAccept: " + std::string(request.accept) + "\r\n";
  bool has_type = false;
  for (std::string header : request.headers) {
    replace_all(header, "{i}", request.index);
    has_type |= strncasecmp(header.c_str(), "content-type:", 13) == 0;
    bytes += header + "\r\n";
  }
  if (!request.last_event_id.empty()) bytes += "Last-Event-ID: " + request.last_event_id + "\r\n";
  if (request.post) {
    if (!has_type) bytes += "Content-Type: application/json\r\n";
    bytes += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  bytes += "\r\n";
  if (request.post) bytes += request.body;
  return bytes;
}

std::size_t Dechunker::feed(char* bytes, std::size_t count) {
  if (!chunked_) return count;
  std::size_t read = 0, kept = 0;
  while (read < count && state_ != State::kDone) {
    if (state_ == State::kData) {
      const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, count - read));
      if (kept != read) std::memmove(bytes + kept, bytes + read, taken);
      kept += taken, read += taken, remaining_ -= taken;
      if (remaining_ == 0) state_ = State::kDataEnd;
      continue;
    }
    const char byte = bytes[read++];
    if (state_ == State::kSize) {
      size_byte(byte);
    } else if (byte == '\n') {
      state_ = State::kSize;
    }
  }
  return kept;
}

void Dechunker::size_byte(char byte) {
  if (byte == '\n') {
    if (in_extension_ || has_digits_) state_ = remaining_ == 0 ? State::kDone : State::kData;
    in_extension_ = has_digits_ = false;
    return;
  }
  if (in_extension_) return;
  const int lower = byte | 32;
  const int digit = byte >= '0' && byte <= '9' ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  if (digit < 0) {
    in_extension_ = true;
    return;
  }
  if (!has_digits_) remaining_ = 0;
  has_digits_ = true;
  remaining_ = remaining_ * 16 + static_cast<unsigned>(digit);
}

}  // namespace ssebench
