// Where a request comes from, as the limits on sources count it. Pure.
//
// Whoever has one IPv6 address has all of its /64, and often a /48 of them; an IPv4 address stands for itself.
#pragma once

#include <string>

namespace agentd::access {

// `address`: a net::Peer's. "192.0.2.7" is itself, "2001:db8::1" is "2001:db8::/64"; what is no address, as "unix", is
// one source.
[[nodiscard]] std::string source_of(const std::string& address);
// The network around it: "192.0.2.0/24", "2001:db8::/48".
[[nodiscard]] std::string network_of(const std::string& address);

}  // namespace agentd::access
