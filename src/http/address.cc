#include "http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace agentd::http {

namespace {

using Bytes = std::span<const std::uint8_t>;

struct Range {
  std::array<std::uint8_t, 16> start;
  std::size_t bits;
  std::string_view kind;
};

constexpr Range kSpecial4[] = {
    {{0}, 8, "unspecified"},
    {{10}, 8, "private"},
    {{100, 64}, 10, "shared (carrier-grade NAT)"},
    {{127}, 8, "loopback"},
    {{169, 254}, 16, "link-local"},
    {{172, 16}, 12, "private"},
    {{192, 0, 0}, 24, "reserved"},
    {{192, 0, 2}, 24, "documentation"},
    {{192, 88, 99}, 24, "6to4"},
    {{192, 168}, 16, "private"},
    {{198, 18}, 15, "benchmarking"},
    {{198, 51, 100}, 24, "documentation"},
    {{203, 0, 113}, 24, "documentation"},
    {{224}, 4, "multicast"},
    {{240}, 4, "reserved"},
};

// Global unicast is what is not named here and begins with the bits 001.
constexpr Range kGlobalUnicast6 = {{0x20}, 3, "global unicast"};
constexpr Range kSpecial6[] = {
    {{0}, 128, "unspecified"},      {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, "loopback"},
    {{0x20, 0x01}, 23, "reserved"}, {{0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {{0x20, 0x02}, 16, "6to4"},     {{0x3f, 0xff}, 20, "documentation"},
    {{0xfc}, 7, "private"},         {{0xfe, 0x80}, 10, "link-local"},
    {{0xff}, 8, "multicast"},
};

// Their last four bytes are an address of IPv4.
constexpr Range kCarries4[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, "mapped"},
    {{0x00, 0x64, 0xff, 0x9b}, 96, "NAT64"},
};

bool contains(const Range& range, Bytes address) {
  const std::size_t whole = range.bits / 8;
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole), range.start.begin())) {
    return false;
  }
  const std::size_t rest = range.bits % 8;
  return rest == 0 || ((address[whole] ^ range.start[whole]) >> (8 - rest)) == 0;
}

std::optional<std::string_view> find_in(std::span<const Range> ranges, Bytes address) {
  const auto found = std::ranges::find_if(ranges, [address](const Range& range) { return contains(range, address); });
  if (found == ranges.end()) return std::nullopt;
  return found->kind;
}

std::optional<std::string_view> special6(Bytes address) {
  if (find_in(kCarries4, address)) return find_in(kSpecial4, address.last(4));
  if (const auto kind = find_in(kSpecial6, address)) return kind;
  if (!contains(kGlobalUnicast6, address)) return "reserved";
  return std::nullopt;
}

// The address itself, in network order; empty for a family that is neither.
std::array<std::uint8_t, 16> bytes_of(const sockaddr& address) {
  std::array<std::uint8_t, 16> bytes{};
  if (address.sa_family == AF_INET) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.sa_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return bytes;
}

}  // namespace

std::optional<std::string_view> special_range(const sockaddr& address) {
  const auto bytes = bytes_of(address);
  if (address.sa_family == AF_INET) return find_in(kSpecial4, Bytes(bytes).first(4));
  if (address.sa_family == AF_INET6) return special6(bytes);
  return "no address of the Internet";
}

std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const auto bytes = bytes_of(address);
  return ::inet_ntop(address.sa_family, bytes.data(), text.data(), text.size()) == nullptr ? "?" : text.data();
}

}  // namespace agentd::http
