// What http::Client makes of a request before libcurl sees it, and of libcurl's errors after.
//
// No error names a path, a query, the value of a header or the user in a URL: secrets stand there.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"

namespace agentd::http {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

struct Destination {
  std::unique_ptr<CURLU, FreeUrl> url;
  std::string place;  // "host:port"
};

// Where the request goes. Errors: kInvalidParams, for what is no request of HTTP.
[[nodiscard]] Result<Destination> check(const OutboundRequest& request);

// What became of a transfer that did not end well.
struct Failure {
  CURL* easy = nullptr;
  CURLcode code = CURLE_OK;
  std::string_view detail;  // libcurl's own words
  bool head_given = false;
};
// `place` is that of the request's URL.
[[nodiscard]] Error error_of(const Failure& failure, const OutboundRequest& request, const std::string& place);

}  // namespace agentd::http
