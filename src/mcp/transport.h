// Transport: one way to an MCP server: JSON-RPC messages out and in. A program's stdin and stdout (mcp/stdio.h), or HTTP
// (mcp/streamable_http.h). Confined to its loop's thread.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace agentd::mcp {

class Transport {
 public:
  // Called on the loop, never within send(). Neither may destroy the transport; that is for the next turn of the loop.
  struct Events {
    // An object; a batch comes one by one. `within`: id of the request whose answer's stream it came in; null: not known.
    std::function<void(const Json& message, const Json& within)> received;
    std::function<void(const std::string& why)> closed;  // once, as its last word
  };
  virtual ~Transport() = default;  // ends it: nothing is called any more
  virtual void send(const Json& message) = 0;
  // The revision that both speak, once that is known; messages of the server's own may come from here on.
  virtual void negotiated(const std::string& version) = 0;
};

}  // namespace agentd::mcp
