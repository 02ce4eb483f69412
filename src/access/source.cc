#include "access/source.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace agentd::access {
namespace {

// The first `bits` (a multiple of 8) of an address of the family, as "<address>/<bits>"; or none.
std::optional<std::string> prefix_of(int family, const std::string& address, std::size_t bits) {
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  if (::inet_pton(family, address.c_str(), binary.data()) != 1) return {};
  std::fill(binary.begin() + static_cast<std::ptrdiff_t>(bits / 8), binary.end(), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(family, binary.data(), text.data(), text.size());
  return fmt::format("{}/{}", text.data(), bits);
}

}  // namespace

std::string source_of(const std::string& address) { return prefix_of(AF_INET6, address, 64).value_or(address); }

std::string network_of(const std::string& address) {
  if (auto v6 = prefix_of(AF_INET6, address, 48)) return *std::move(v6);
  return prefix_of(AF_INET, address, 24).value_or(address);
}

}  // namespace agentd::access
