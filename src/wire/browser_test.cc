#include "wire/browser.h"

#include <gtest/gtest.h>

#include "wire/html.h"

namespace agentd::wire {
namespace {

http::Request request(http::Headers headers, bool tls = false) {
  return {.method = "GET",
          .path = "/",
          .query = {},
          .headers = std::move(headers),
          .body = {},
          .peer = {.address = "::1", .tls = tls}};
}

TEST(Browser, TheOriginItCameToIsNotForeign) {
  EXPECT_FALSE(foreign_origin(request({{"Host", "localhost:8420"}})));
  EXPECT_FALSE(foreign_origin(request({{"Host", "localhost:8420"}, {"Origin", "http://localhost:8420"}})));
  EXPECT_FALSE(foreign_origin(request({{"Host", "[::1]"}, {"Origin", "https://[::1]"}}, true)));
  for (const char* origin : {"null", "", "http://", "https://localhost:8420", "http://localhost",
                             "http://localhost:8421", "http://127.0.0.1:8420", "http://localhost:8420/"}) {
    EXPECT_EQ(foreign_origin(request({{"Host", "localhost:8420"}, {"Origin", origin}})), origin);
  }
  EXPECT_EQ(foreign_origin(request({{"Origin", "http://"}})), "http://");
  http::Request by_socket = request({{"Host", "localhost"}, {"Origin", "http://localhost"}});
  by_socket.peer.uid = 0;
  EXPECT_EQ(foreign_origin(by_socket), "http://localhost");
}

TEST(Browser, OnlyThisMachineHasALocalOrigin) {
  http::Request asked = request({{"Host", "127.0.0.1:8420"}});
  EXPECT_EQ(local_origin(asked), "") << "its peer came from elsewhere";
  asked.peer.loopback = true;
  EXPECT_EQ(local_origin(asked), "http://127.0.0.1:8420");
  asked.headers.emplace_back("Sec-Fetch-Site", "same-site");
  EXPECT_EQ(local_origin(asked), "");
}

TEST(Browser, APageOfTheSameSiteIsOfSomewhereElse) {
  EXPECT_FALSE(is_of_foreign_page(request({})));
  for (const char* site : {"none", "same-origin"})
    EXPECT_FALSE(is_of_foreign_page(request({{"Sec-Fetch-Site", site}})));
  for (const char* site : {"same-site", "cross-site", "", "None"}) {
    EXPECT_TRUE(is_of_foreign_page(request({{"Sec-Fetch-Site", site}}))) << site;
  }
}

TEST(Browser, ItsSessionIsTheCookieOfThePort) {
  const auto found = [](const char* host, const char* cookies, bool tls = false) {
    const http::Request asked = request({{"Host", host}, {"Cookie", cookies}}, tls);
    return std::string(session_cookie(asked).value_or("none"));
  };
  EXPECT_EQ(found("127.0.0.1:8420", "a=b; agentd_session_8420=t; agentd_session_1=u"), "t");
  EXPECT_EQ(found("[::1]:8420", "agentd_session_8420="), "");
  EXPECT_EQ(found("[::1]", "agentd_session_80=t"), "t");
  EXPECT_EQ(found("localhost", "agentd_session_443=t", true), "t");
  for (const char* cookies : {"", ";", "agentd_session_8420", "agentd_session_84200=t", "xagentd_session_8420=t",
                              "a=agentd_session_8420=t"}) {
    EXPECT_EQ(found("127.0.0.1:8420", cookies), "none") << cookies;
  }
}

TEST(Browser, ASessionIsSetForThisHostAloneAndSecureWhereItCanBe) {
  EXPECT_EQ(set_session_cookie(request({{"Host", "127.0.0.1:8420"}}), "t", 60),
            "agentd_session_8420=t; HttpOnly; SameSite=Strict; Path=/; Max-Age=60");
  EXPECT_EQ(set_session_cookie(request({{"Host", "localhost"}}, true), "t", 60),
            "agentd_session_443=t; HttpOnly; SameSite=Strict; Path=/; Max-Age=60; Secure");
}

TEST(Html, TextIsNoMarkup) {
  EXPECT_EQ(escape_html("<script>alert('1' & \"2\")</script>"),
            "&lt;script&gt;alert(&#39;1&#39; &amp; &quot;2&quot;)&lt;/script&gt;");
  const http::Response page = html_page(200, "<b>", "<p>body</p>");
  EXPECT_NE(page.body.find("<h1>&lt;b&gt;</h1><p>body</p>"), std::string::npos);
}

}  // namespace
}  // namespace agentd::wire
