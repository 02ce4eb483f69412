#include "base/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <iterator>
#include <vector>

#include "base/check.h"

namespace agentd {

namespace {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view bytes) {
  Digest digest{};
  unsigned size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  AGENTD_CHECK(ok == 1 && size == digest.size(), "SHA-256 is not available");
  return digest;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : sha256(bytes)) fmt::format_to(std::back_inserter(out), "{:02x}", byte);
  return out;
}

std::string sha256_base64(std::string_view bytes) {
  const Digest digest = sha256(bytes);
  return to_base64(std::string(digest.begin(), digest.end()));
}

std::string to_base64(std::string_view bytes) {
  std::vector<unsigned char> in(bytes.begin(), bytes.end()), out((bytes.size() + 2) / 3 * 4 + 1);  // and a NUL
  const int size = EVP_EncodeBlock(out.data(), in.data(), static_cast<int>(in.size()));
  return {out.begin(), out.begin() + size};
}

}  // namespace agentd
