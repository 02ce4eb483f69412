#include "base/ids.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <span>
#include <vector>

#include "base/check.h"

namespace agentd {
namespace {

void fill(std::span<unsigned char> out) {
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t n = ::getrandom(out.data() + done, out.size() - done, 0);
    AGENTD_CHECK(n > 0, "getrandom failed");
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

std::string random_hex(std::size_t digits) {
  std::vector<unsigned char> bytes((digits + 1) / 2);
  fill(bytes);
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) fmt::format_to(std::back_inserter(out), "{:02x}", byte);
  out.resize(digits);
  return out;
}

std::string random_uuid() {
  std::string hex = random_hex(32);
  hex[12] = '4';
  hex[16] = "89ab"[random_u64() % 4];
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4),
                     hex.substr(20));
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  fill({reinterpret_cast<unsigned char*>(&value), sizeof value});
  return value;
}

}  // namespace agentd
