#include "http/response_text.h"

#include <gtest/gtest.h>

namespace agentd::http {
namespace {

TEST(DateText, IsTheFixedFormAndFollowsTheClock) {
  DateText date;
  EXPECT_EQ(date.at(784'111'777'000), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.at(784'111'777'999), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.at(784'111'778'000), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(date.at(784'111'777'000), "Sun, 06 Nov 1994 08:49:37 GMT");
}

std::string head(const Response& response, HeadOptions options) {
  options.date = "today";
  std::string out;
  append_head(out, response, options);
  return out;
}

TEST(ResponseHead, SaysHowTheBodyEnds) {
  const Response response{.headers = {{"X", "y"}}, .body = "12345"};
  EXPECT_EQ(head(response, {}), "HTTP/1.1 200 OK\r\nDate: today\r\nX: y\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(head(response, {.framing = Framing::kChunked}),
            "HTTP/1.1 200 OK\r\nDate: today\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(head(response, {.framing = Framing::kUntilClose, .keep_alive = false}),
            "HTTP/1.1 200 OK\r\nDate: today\r\nX: y\r\nConnection: close\r\n\r\n");
}

TEST(ResponseHead, GivesNoLengthWhereThereIsNoBody) {
  EXPECT_EQ(head({.status = 204}, {}), "HTTP/1.1 204 No Content\r\nDate: today\r\n\r\n");
  EXPECT_EQ(head({.status = 304}, {}), "HTTP/1.1 304 Not Modified\r\nDate: today\r\n\r\n");
}

TEST(ResponseHead, KeepsTheServersOwnHeadersToTheServer) {
  const Response response{.headers = {{"content-length", "99"}, {"Connection", "upgrade"}, {"DATE", "x"}}};
  EXPECT_EQ(head(response, {}), "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseHead, LetsNoValueStartALine) {
  EXPECT_EQ(head({.headers = {{"X", "a\r\nSet-Cookie: b\n\tc"}}}, {}),
            "HTTP/1.1 200 OK\r\nDate: today\r\nX: a  Set-Cookie: b \tc\r\nContent-Length: 0\r\n\r\n");
}

}  // namespace
}  // namespace agentd::http
