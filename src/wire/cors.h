// Cors: what the page of another origin, one that the configuration lists, is told beside its answer (access.md section
// 6). It may read the answer; it gets no rights by that, and no cookie is ever taken from it.
//
// Pure functions, any thread; the exchange is as confined as the one in it.
#pragma once

#include <memory>
#include <string_view>

#include "http/message.h"
#include "http/server.h"

namespace agentd::wire {

// Lets the page at `origin` read the response.
void allow_origin(http::Response& response, std::string_view origin);

// A browser asks whether a page may send what it is about to send.
[[nodiscard]] bool is_preflight(const http::Request& request);
// The answer, the same for every path that is served. Without allow_origin().
[[nodiscard]] http::Response preflight_response();

// The exchange, but that the page at the request's Origin may read the answer, be it one or a stream.
[[nodiscard]] std::shared_ptr<http::Exchange> readable_by_origin(std::shared_ptr<http::Exchange> exchange);

}  // namespace agentd::wire
