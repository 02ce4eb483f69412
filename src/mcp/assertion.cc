#include "mcp/assertion.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "mcp/oauth_text.h"
#include "net/openssl.h"

namespace agentd::mcp {
namespace {

constexpr std::int64_t kLifeS = 300;
constexpr int kHalf = 32;  // of a signature on P-256

using DigestPtr = std::unique_ptr<EVP_MD_CTX, net::Freed<EVP_MD_CTX_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, net::Freed<ECDSA_SIG_free>>;

// "" when it cannot be.
std::string sign(EVP_PKEY* key, const std::string& text) {
  const DigestPtr context(EVP_MD_CTX_new());
  const auto* bytes =
      reinterpret_cast<const unsigned char*>(text.data());  // NOLINT(*-reinterpret-cast): OpenSSL's bytes
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return "";
  }
  std::vector<unsigned char> out(size);
  if (EVP_DigestSign(context.get(), out.data(), &size, bytes, text.size()) != 1) return "";
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size)};
}

// The two numbers side by side, as JWTs have them.
std::string plain_signature(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());  // NOLINT(*-reinterpret-cast): OpenSSL's bytes
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::vector<unsigned char> out(2 * kHalf);
  if (!signature || BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out.data(), kHalf) != kHalf ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out.data() + kHalf, kHalf) != kHalf) {
    return "";
  }
  return {out.begin(), out.end()};
}

}  // namespace

Result<std::string> client_assertion(const std::string& key, const std::string& client, const std::string& audience,
                                     std::int64_t now_s) {
  const net::BioPtr text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  // Never a question for a passphrase at the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return 0; };
  const net::KeyPtr parsed(PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, nullptr));
  const bool is_ec = parsed && EVP_PKEY_is_a(parsed.get(), "EC") == 1 && EVP_PKEY_get_bits(parsed.get()) == 8 * kHalf;
  const bool is_rsa = parsed && EVP_PKEY_is_a(parsed.get(), "RSA") == 1;
  if (!is_ec && !is_rsa)
    return fail(Code::kConfig, "the private key is none of P-256 or RSA in PEM, without a passphrase");
  const Json head = {{"alg", is_ec ? "ES256" : "RS256"}, {"typ", "JWT"}};
  const Json claims = {{"iss", client}, {"sub", client},         {"aud", audience},
                       {"iat", now_s},  {"exp", now_s + kLifeS}, {"jti", random_uuid()}};
  const std::string body = to_base64url(dump_json(head)) + "." + to_base64url(dump_json(claims));
  const std::string signature = sign(parsed.get(), body);
  const std::string shown = is_ec ? plain_signature(signature) : signature;
  if (shown.empty()) return fail(Code::kConfig, "nothing can be signed with the private key");
  return body + "." + to_base64url(shown);
}

}  // namespace agentd::mcp
