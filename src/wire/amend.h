// Amend: an exchange whose answer gets something more on its way, be it one response or the head of a stream.
// As confined as the exchange in it.
#pragma once

#include <memory>

#include "http/message.h"
#include "http/server.h"

namespace agentd::wire {

using Amend = void (*)(const http::Request& request, http::Response& response);

[[nodiscard]] std::shared_ptr<http::Exchange> amended(std::shared_ptr<http::Exchange> exchange, Amend amend);

}  // namespace agentd::wire
