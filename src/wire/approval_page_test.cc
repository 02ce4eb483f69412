#include "wire/approval_page.h"

#include <gtest/gtest.h>

namespace agentd::wire {
namespace {

constexpr const char* kEvil = "\"><script>alert('x')</script>";

Json request(const std::string& code, const std::string& scope = "user") {
  return {
      {"user_code", code}, {"client_id", "laptop"}, {"scope", scope}, {"peer", "192.0.2.7"}, {"requested_at", 1'000}};
}

bool has(const http::Response& page, std::string_view text) { return page.body.find(text) != std::string::npos; }

std::string header(const http::Response& page, std::string_view name) {
  for (const auto& [key, value] : page.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(ApprovalPage, WhateverIsShownIsTextAndNoMarkup) {
  Json evil = request("BCDF-GHJK");
  for (const char* key : {"client_id", "scope", "peer"}) evil[key] = kEvil;
  const Json pending = Json::array({evil});
  for (const http::Response& page :
       {approval_page({.pending = pending, .user_code = kEvil, .csrf_token = kEvil}),
        approval_page(
            {.pending = pending, .attempt = {.user_code = "BCDF-GHJK", .name = kEvil, .scope = kEvil, .fault = kEvil}}),
        approval_page({.attempt = {.user_code = kEvil, .fault = kEvil}}), outcome_page(200, kEvil, kEvil),
        device_page(kEvil)}) {
    EXPECT_FALSE(has(page, "<script")) << page.body;
    EXPECT_FALSE(has(page, "\"\">")) << page.body;
    EXPECT_FALSE(has(page, "alert('")) << page.body;
  }
}

TEST(ApprovalPage, TheOneThatIsNamedComesFirst) {
  const http::Response page = approval_page({.pending = Json::array({request("BCDF-GHJK"), request("LMNP-QRST")}),
                                             .user_code = "lmnp qrst",
                                             .csrf_token = "c",
                                             .now_ms = 31'000});
  EXPECT_EQ(page.status, 200);
  EXPECT_LT(page.body.find("LMNP-QRST"), page.body.find("BCDF-GHJK"));
  EXPECT_TRUE(has(page, "<dd>30 s ago</dd>"));
  EXPECT_TRUE(has(page, "name=\"csrf_token\" value=\"c\""));
  EXPECT_FALSE(has(page, "role=\"alert\""));
}

TEST(ApprovalPage, OffersNoWiderScopeThanWasAskedFor) {
  EXPECT_FALSE(has(approval_page({.pending = Json::array({request("BCDF-GHJK")})}), "operator</option>"));
  EXPECT_TRUE(has(approval_page({.pending = Json::array({request("BCDF-GHJK", "operator")})}),
                  "<option selected>operator</option>"));
}

TEST(ApprovalPage, AFaultStandsInItsFormWithWhatWasTyped) {
  const http::Response page = approval_page(
      {.pending = Json::array({request("BCDF-GHJK"), request("LMNP-QRST", "operator")}),
       .user_code = "LMNP-QRST",
       .attempt = {.user_code = "LMNP-QRST", .name = "Ada", .scope = "user", .fault = "The name is wrong."}});
  EXPECT_EQ(page.status, 400);
  const std::size_t fault = page.body.find("The name is wrong.");
  EXPECT_GT(fault, page.body.find("LMNP-QRST"));
  EXPECT_LT(fault, page.body.find("BCDF-GHJK"));
  EXPECT_TRUE(has(page, "name=\"as\" value=\"Ada\""));
  EXPECT_TRUE(has(page, "<option selected>user</option><option>operator</option>"));
}

TEST(ApprovalPage, ACodeThatDoesNotWaitIsSaidToBeNone) {
  EXPECT_TRUE(has(approval_page({.user_code = "BCDF-GHJK"}), "BCDF-GHJK is not a code that waits"));
  EXPECT_FALSE(has(approval_page({}), "role=\"alert\""));
}

TEST(ApprovalPage, RunsNothingAndIsInNoFrame) {
  const std::string policy = header(approval_page({}), "Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; style-src 'sha256-")) << policy;
  for (const char* rule : {"form-action 'self'", "frame-ancestors 'none'"})
    EXPECT_NE(policy.find(rule), std::string::npos);
  EXPECT_EQ(header(approval_page({}), "Referrer-Policy"), "same-origin") << "or its forms would come from \"null\"";
}

}  // namespace
}  // namespace agentd::wire
