#include "wire/pages.h"

#include <fmt/format.h>

#include <utility>

#include "base/digest.h"

namespace agentd::wire {

void Pages::add(const std::string& path, std::string content_type, std::string body, int max_age_s) {
  std::string etag = fmt::format("\"{}\"", sha256_hex(body).substr(0, 32));
  pages_[path] = {.content_type = std::move(content_type),
                  .body = std::move(body),
                  .etag = std::move(etag),
                  .cache_control = fmt::format("public, max-age={}", max_age_s)};
}

http::Response Pages::get(const http::Request& request) const {
  const Page& page = pages_.at(request.path);
  // These pages hold nothing that is not everybody's, so a page of another origin may read them.
  http::Response response{
      .status = 200,
      .headers = {{"ETag", page.etag}, {"Cache-Control", page.cache_control}, {"Access-Control-Allow-Origin", "*"}},
      .body = {}};
  const std::string known = request.header_list("If-None-Match");
  if (known == "*" || known.find(page.etag) != std::string::npos) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Type", page.content_type);
  response.body = page.body;
  return response;
}

}  // namespace agentd::wire
