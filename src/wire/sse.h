// What both kinds of event stream share: an event's bytes around a JSON-RPC result, and the head of the response.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "http/message.h"

namespace agentd::wire {

// What stands before and after each result of one stream.
struct SseFraming {
  std::string before;      // `data: {"jsonrpc":"2.0","id":7,"result":`
  std::string_view after;  // `}` and a blank line
};
[[nodiscard]] SseFraming rpc_framing(const Json& id);
// A frame on its own, as GET /events sends it.
[[nodiscard]] SseFraming bare_framing();

// 200, text/event-stream, and what keeps proxies from buffering it; `extensions` is echoed unless empty.
[[nodiscard]] http::Response stream_head(const std::string& extensions);

}  // namespace agentd::wire
