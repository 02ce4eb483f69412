// A client's assertion: the JWT by which it shows who it is, signed with its key (RFC 7523; RFC 7518 for ES256 and RS256). Pure but for OpenSSL.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace agentd::mcp {

// `key`: private, in PEM: of the curve P-256, or RSA. Good for five minutes from `now_s` on. Errors: kConfig, when it is no such key.
[[nodiscard]] Result<std::string> client_assertion(const std::string& key, const std::string& client,
                                                   const std::string& audience, std::int64_t now_s);

}  // namespace agentd::mcp
