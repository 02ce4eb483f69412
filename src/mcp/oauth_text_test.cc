#include "mcp/oauth_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agentd::mcp {
namespace {

using Texts = std::vector<std::string>;

TEST(OauthText, ReadsTheChallengeOfBearerAlone) {
  const Challenge plain = read_challenge(R"(Bearer resource_metadata="https://a/b?c=\"d", scope="x y", error=none)");
  EXPECT_EQ(plain.resource_metadata, "https://a/b?c=\"d");
  EXPECT_EQ(plain.scope, "x y");
  EXPECT_EQ(plain.error, "none");
  const Challenge second = read_challenge(R"(Basic realm="scope=wrong", scope=no, bearer SCOPE = yes)");
  EXPECT_EQ(second.scope, "yes");
  for (const char* odd : {"", "Bearer", "Bearer scope", "Bearer scope=\"", "=,=", "Bearer \x01"}) {
    EXPECT_EQ(read_challenge(odd).scope, "") << odd;
  }
}

TEST(OauthText, TakesUrlsApart) {
  EXPECT_EQ(origin_of("HTTPS://Host:8443/Path?q"), "https://host:8443");
  EXPECT_EQ(host_of("https://host:8443/x"), "host");
  EXPECT_EQ(host_of("http://[::1]:80"), "[::1]");
  EXPECT_EQ(host_of("http://[::1]"), "[::1]");
  EXPECT_EQ(path_of("https://host/a/b?c#d"), "/a/b");
  EXPECT_EQ(path_of("https://host?c"), "");
  EXPECT_EQ(origin_of("host/a"), "");
  EXPECT_EQ(host_of("host"), "");
}

TEST(OauthText, NamesTheWellKnownPlaces) {
  EXPECT_EQ(resource_metadata_urls("https://h/mcp"), (Texts{"https://h/.well-known/oauth-protected-resource/mcp",
                                                            "https://h/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(resource_metadata_urls("https://h/"), (Texts{"https://h/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(issuer_metadata_urls("https://h/t/"),
            (Texts{"https://h/.well-known/oauth-authorization-server/t", "https://h/.well-known/openid-configuration/t",
                   "https://h/t/.well-known/openid-configuration"}));
  EXPECT_EQ(issuer_metadata_urls("https://h"),
            (Texts{"https://h/.well-known/oauth-authorization-server", "https://h/.well-known/openid-configuration"}));
}

TEST(OauthText, ATokenIsForItsResourceAndWhatIsBelow) {
  EXPECT_TRUE(covers("https://h", "https://h/mcp"));
  EXPECT_TRUE(covers("https://H/mcp/", "https://h/mcp"));
  EXPECT_FALSE(covers("https://h/mcp", "https://h/mcp2"));
  EXPECT_FALSE(covers("https://h/mcp", "https://h/"));
  EXPECT_FALSE(covers("https://h.example", "https://h.example.evil/"));
  EXPECT_FALSE(covers("http://h", "https://h"));
  EXPECT_FALSE(covers("", ""));
}

TEST(OauthText, ChallengesAsTheExampleOfRfc7636) {
  EXPECT_EQ(code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  EXPECT_EQ(basic_credentials("a b", "c:d"), "Basic YSUyMGI6YyUzQWQ=");  // "a%20b:c%3Ad"
}

}  // namespace
}  // namespace agentd::mcp
