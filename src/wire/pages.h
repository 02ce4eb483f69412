// Pages: what the daemon serves to anyone who can reach it: the agent card, the extensions' pages, bundles and examples.
// Immutable after construction; any thread.
#pragma once

#include <map>
#include <string>

#include "http/message.h"

namespace agentd::wire {

class Pages final {
 public:
  // With an ETag of the content and `Cache-Control: max-age=<seconds>`.
  void add(const std::string& path, std::string content_type, std::string body, int max_age_s);
  [[nodiscard]] bool has(const std::string& path) const { return pages_.contains(path); }
  // 200, or 304 when the request holds the page already (If-None-Match). The path must be known.
  [[nodiscard]] http::Response get(const http::Request& request) const;

 private:
  struct Page {
    std::string content_type, body, etag, cache_control;
  };
  std::map<std::string, Page> pages_;
};

}  // namespace agentd::wire
