// SHA-256, by OpenSSL. Pure.
#pragma once

#include <string>
#include <string_view>

namespace agentd {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);  // 64 digits, lower case
[[nodiscard]] std::string sha256_base64(std::string_view bytes);

}  // namespace agentd
