// A request and a response as values. Header names are kept as they came and compared without case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/listener.h"

namespace agentd::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

// Equal without case, as names of headers are.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

struct Request {
  std::string method;                                      // "GET", "POST", …
  std::string path;                                        // decoded, without the query: "/events"
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  Headers headers;
  std::string body;
  net::Peer peer;

  // The first header of that name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  // All lines of that name joined with ", ".
  [[nodiscard]] std::string header_list(std::string_view name) const;
  [[nodiscard]] std::optional<std::string_view> param(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers = {};  // Content-Length, Date and Connection are the server's own
  std::string body = {};
};

}  // namespace agentd::http
