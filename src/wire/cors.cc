#include "wire/cors.h"

#include <utility>

#include "wire/amend.h"

namespace agentd::wire {

void allow_origin(http::Response& response, std::string_view origin) {
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "a2a-extensions, retry-after, www-authenticate");
  response.headers.emplace_back("Vary", "Origin");
}

bool is_preflight(const http::Request& request) { return request.method == "OPTIONS" && request.header("Origin"); }

http::Response preflight_response() {
  return {.status = 204,
          .headers = {{"Access-Control-Allow-Methods", "POST, GET, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "content-type, authorization, last-event-id, a2a-extensions, a2a-version"},
                      {"Access-Control-Max-Age", "600"}}};
}

std::shared_ptr<http::Exchange> readable_by_origin(std::shared_ptr<http::Exchange> exchange) {
  return amended(std::move(exchange), [](const http::Request& request, http::Response& response) {
    allow_origin(response, request.header("Origin").value_or(""));
  });
}

}  // namespace agentd::wire
