// Which addresses are the public Internet's: what the gate of http::Client lets by when somebody else gave the URL.
//
// IPv4: all but the special ranges of IANA's registry. IPv6: global unicast (2000::/3) without its special ranges; an address that carries
// one of IPv4 (mapped, NAT64) is judged by that. Pure.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace agentd::http {

// What is special about the address ("loopback", "private"), or nothing for a public one. `address` is a whole sockaddr of its family.
[[nodiscard]] std::optional<std::string_view> special_range(const sockaddr& address);

// "127.0.0.1", "::1"; "?" for a family that is neither.
[[nodiscard]] std::string address_text(const sockaddr& address);

}  // namespace agentd::http
