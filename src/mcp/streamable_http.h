// An MCP server over Streamable HTTP: each message is a POST, whose answer is JSON or a stream of events; what the server says of its own comes
// by a stream that is kept open. A stream that was cut is resumed from its last event. A request that is refused for want of a token is sent
// once more when one can be had. Confined to its loop's thread.
#pragma once

#include <memory>

#include "config/agent.h"
#include "http/client.h"
#include "mcp/authorization.h"
#include "mcp/transport.h"
#include "net/loop.h"

namespace agentd::mcp {

// The URL is the operator's word: it may be anywhere. The references outlive what is made.
[[nodiscard]] std::unique_ptr<Transport> make_http_transport(net::Loop& loop, http::Client& client,
                                                             const config::McpServer& config,
                                                             Authorization& authorization, Transport::Events events);

}  // namespace agentd::mcp
