// Times, durations and sizes as text: RFC 3339 on the wire, "10m" and "64MiB" in the configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace agentd {

// "2026-01-31T09:08:07.123Z": UTC, always three decimals.
[[nodiscard]] std::string rfc3339(std::int64_t epoch_ms);
// RFC 3339 with any offset and any number of decimals (cut to milliseconds). Errors: kInvalidParams.
[[nodiscard]] Result<std::int64_t> parse_rfc3339(std::string_view text);

// Milliseconds of "250ms", "30s", "10m", "8h", "30d". Errors: kInvalidParams.
[[nodiscard]] Result<std::int64_t> parse_duration(std::string_view text);
// Bytes of "512", "64KiB", "2MiB", "1GiB". Errors: kInvalidParams.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);

}  // namespace agentd
