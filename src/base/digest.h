// SHA-256 and Base64, by OpenSSL. Pure.
#pragma once

#include <string>
#include <string_view>

namespace agentd {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);  // 64 digits, lower case
[[nodiscard]] std::string sha256_base64(std::string_view bytes);
[[nodiscard]] std::string to_base64(std::string_view bytes);  // with padding; at most a GiB

}  // namespace agentd
