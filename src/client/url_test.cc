#include "client/url.h"

#include <gtest/gtest.h>

namespace agentd::client {
namespace {

TEST(Url, OneDaemonHasOneSpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://127.0.0.1:8420", "http://127.0.0.1:8420"},
      {"http://127.0.0.1:8420/", "http://127.0.0.1:8420"},
      {"127.0.0.1:8420", "http://127.0.0.1:8420"},
      {"HTTPS://Agent.Example:443/A/?q=1#f", "https://agent.example/A"},
      {"https://user:word@agent.example", "https://agent.example"},
      {"http://agent.example:443", "http://agent.example:443"},
      {"http://[::1]:8420", "http://[::1]:8420"},
  };
  for (const auto& [given, expected] : cases) {
    const auto url = canonical_url(given);
    ASSERT_TRUE(url) << given;
    EXPECT_EQ(*url, expected) << given;
  }
}

TEST(Url, WhatIsNoneIsNamed) {
  for (const char* bad : {"", "unix:///run/agentd.sock", "file:///etc/passwd", "http://", "http://h:99999"}) {
    const auto url = canonical_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().code, Code::kConfig);
  }
}

TEST(Url, HasAnOriginAndAPort) {
  EXPECT_EQ(origin_of("http://127.0.0.1:8420/a/b"), "http://127.0.0.1:8420");
  EXPECT_EQ(origin_of("https://[::1]"), "https://[::1]");
  EXPECT_EQ(port_of("http://127.0.0.1:8420/a"), "8420");
  EXPECT_EQ(port_of("https://[::1]"), "443");
}

TEST(Url, IsOfThisMachine) {
  for (const char* here : {"http://127.0.0.1:8420", "https://localhost/a", "http://[::1]"})
    EXPECT_TRUE(is_loopback(here));
  for (const char* there : {"http://127.evil.example", "http://localhost.example", "http://192.0.2.1:80"}) {
    EXPECT_FALSE(is_loopback(there)) << there;
  }
}

}  // namespace
}  // namespace agentd::client
