// Tables of who waits for access and who has it, for `agentd devices` and `agentd sessions`. Pure. Members that are
// missing or of another type come out empty; nothing reaches the terminal without having passed printable.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace agentd::cli {

// Arrays of the ops auth.device.pending and auth.sessions. With a head; each line ends in a line feed.
[[nodiscard]] std::string render_devices(const Json& pending, std::int64_t now_ms);
[[nodiscard]] std::string render_sessions(const Json& sessions, std::int64_t now_ms);

}  // namespace agentd::cli
