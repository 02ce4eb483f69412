#include "mcp/assertion.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::mcp {
namespace {

std::string pem_of(EVP_PKEY* key) {
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  std::string pem(text, static_cast<std::size_t>(size));
  BIO_free(out);
  EVP_PKEY_free(key);
  return pem;
}

std::vector<std::string> parts_of(const std::string& token) {
  std::vector<std::string> out(1);
  for (const char c : token) {
    c == '.' ? void(out.emplace_back()) : out.back().push_back(c);
  }
  return out;
}

std::string decoded(std::string text) {
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  while (text.size() % 4 != 0) text += '=';
  std::vector<unsigned char> in(text.begin(), text.end()), out(text.size());
  const int size = EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size()));
  return {out.begin(), out.begin() + size - std::ranges::count(text, '=')};
}

// Whether the signature is the key's is checked by a stranger: the conformance kit (tests/e2e/mcp.test.mjs).
TEST(Assertion, SaysWhoItIsToWhomAndForHowLong) {
  const auto token = client_assertion(pem_of(EVP_EC_gen("P-256")), "me", "https://as", 1'000);
  ASSERT_TRUE(token) << token.error().message;
  const auto parts = parts_of(*token);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(Json::parse(decoded(parts[0])), (Json{{"alg", "ES256"}, {"typ", "JWT"}}));
  Json claims = Json::parse(decoded(parts[1]));
  EXPECT_EQ(claims["jti"].get<std::string>().size(), 36U);
  claims.erase("jti");
  EXPECT_EQ(claims, (Json{{"iss", "me"}, {"sub", "me"}, {"aud", "https://as"}, {"iat", 1'000}, {"exp", 1'300}}));
  EXPECT_EQ(decoded(parts[2]).size(), 64U);
}

TEST(Assertion, TakesRsaToo) {
  const auto token = client_assertion(pem_of(EVP_RSA_gen(2048)), "me", "https://as", 1'000);
  ASSERT_TRUE(token) << token.error().message;
  const auto parts = parts_of(*token);
  EXPECT_EQ(Json::parse(decoded(parts[0]))["alg"], "RS256");
  EXPECT_EQ(decoded(parts[2]).size(), 256U);
}

TEST(Assertion, RefusesWhatIsNoSuchKey) {
  for (const std::string& key : {std::string(), std::string("-"), pem_of(EVP_EC_gen("P-384"))}) {
    const auto token = client_assertion(key, "me", "https://as", 1'000);
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().code, Code::kConfig);
  }
}

}  // namespace
}  // namespace agentd::mcp
