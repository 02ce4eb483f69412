#include "wire/sse.h"

#include <fmt/format.h>

namespace agentd::wire {

SseFraming rpc_framing(const Json& id) {
  return {.before = fmt::format(R"(data: {{"jsonrpc":"2.0","id":{},"result":)", dump_json(id)), .after = "}\n\n"};
}

SseFraming bare_framing() { return {.before = "data: ", .after = "\n\n"}; }

http::Response stream_head(const std::string& extensions) {
  http::Response head{.status = 200,
                      .headers = {{"Content-Type", "text/event-stream"},
                                  {"Cache-Control", "no-cache, no-transform"},
                                  {"X-Accel-Buffering", "no"}},
                      .body = {}};
  if (!extensions.empty()) head.headers.emplace_back("A2A-Extensions", extensions);
  return head;
}

}  // namespace agentd::wire
