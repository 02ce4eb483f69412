#include "http/codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agentd::http {
namespace {

struct Parsed {
  RequestParser::State state = RequestParser::State::kHead;
  int status = 0;  // of the refusal
  Request request;
  std::size_t consumed = 0;
  bool keep_alive = false;
};

// As a connection does it: what is not consumed is presented again, with `step` more bytes.
Parsed parse(std::string_view bytes, std::size_t step = std::string::npos, const ParserLimits& limits = {}) {
  RequestParser parser(limits);
  Parsed parsed;
  std::size_t arrived = 0;
  using State = RequestParser::State;
  while (parser.state() == State::kHead || parser.state() == State::kBody) {
    const auto used = parser.feed(bytes.substr(parsed.consumed, arrived - parsed.consumed));
    parsed.consumed += used;
    if (used > 0) continue;
    if (arrived == bytes.size()) break;
    arrived += std::min(step, bytes.size() - arrived);
  }
  parsed.state = parser.state();
  if (parsed.state == State::kRefused || parsed.state == State::kOversized) {
    parsed.status = parser.refusal().status;
    EXPECT_FALSE(parser.refusal().reason.empty());
  }
  if (parsed.state == State::kDone) parsed.keep_alive = parser.keep_alive();
  parsed.request = parser.request();
  return parsed;
}

TEST(RequestParser, TakesARequestApart) {
  const auto parsed = parse(
      "POST /a%20b/c?x=1&y=%26+z&flag HTTP/1.1\r\nHost: h:80\r\nX-One: 1\r\nx-one:  2 \r\nContent-Length: "
      "5\r\n\r\nhellorest");
  ASSERT_EQ(parsed.state, RequestParser::State::kDone);
  const Request& request = parsed.request;
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_EQ(request.param("x"), "1");
  EXPECT_EQ(request.param("y"), "& z");
  EXPECT_EQ(request.param("flag"), "");
  EXPECT_EQ(request.param("none"), std::nullopt);
  EXPECT_EQ(request.header("HOST"), "h:80");
  EXPECT_EQ(request.header_list("X-ONE"), "1, 2");
  EXPECT_EQ(request.header("none"), std::nullopt);
  EXPECT_EQ(request.body, "hello");
  EXPECT_TRUE(parsed.keep_alive);
}

TEST(RequestParser, LeavesTheNextRequestAlone) {
  const std::string one = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  const auto parsed = parse(one + "GET /next HTTP/1.1\r\n");
  EXPECT_EQ(parsed.state, RequestParser::State::kDone);
  EXPECT_EQ(parsed.consumed, one.size());
  EXPECT_EQ(parsed.request.body, "abc");
}

TEST(RequestParser, DropsTrailersSoThatTheyCannotPassForHeaders) {
  const auto parsed = parse(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "Chunked\r\n\r\n1;ext=\"q\"\r\nx\r\n0\r\nAuthorization: me\r\n\r\n");
  EXPECT_EQ(parsed.state, RequestParser::State::kDone);
  EXPECT_EQ(parsed.request.header("authorization"), std::nullopt);
}

struct Case {
  const char* name;
  std::string bytes;
  int status;  // 0: taken
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

std::string get(std::string_view fields) { return fmt::format("GET / HTTP/1.1\r\n{}\r\n", fields); }
std::string post(std::string_view fields, std::string_view body = "") {
  return fmt::format("POST / HTTP/1.1\r\nHost: h\r\n{}\r\n{}", fields, body);
}
std::string target(std::string_view text) { return fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n\r\n", text); }
std::string chunked(std::string_view body) { return post("Transfer-Encoding: chunked\r\n", body); }

std::vector<Case> cases() {
  return {
      {"plain", get("Host: h\r\n"), 0},
      {"leading empty line", "\r\n" + get("Host: h\r\n"), 0},
      {"two leading empty lines", "\r\n\r\n" + get("Host: h\r\n"), 400},
      {"empty value", get("Host: h\r\nX:\r\n"), 0},
      {"1.0 without host", "GET / HTTP/1.0\r\n\r\n", 0},
      // Lengths.
      {"content-length twice, same", post("Content-Length: 1\r\nContent-Length: 1\r\n", "x"), 400},
      {"content-length twice, different", post("Content-Length: 1\r\nContent-Length: 2\r\n", "xx"), 400},
      {"content-length list", post("Content-Length: 1, 1\r\n", "x"), 400},
      {"content-length signed", post("Content-Length: +1\r\n", "x"), 400},
      {"content-length negative", post("Content-Length: -1\r\n", "x"), 400},
      {"content-length hex", post("Content-Length: 0x1\r\n", "x"), 400},
      {"content-length empty", post("Content-Length: \r\n"), 400},
      {"content-length overflow", post("Content-Length: 18446744073709551617\r\n", "x"), 400},
      {"content-length large", post("Content-Length: 2097153\r\n"), 413},
      {"length and chunked", post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"chunked and length", post("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n", "0\r\n\r\n"), 400},
      {"xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400},
      {"chunked twice in one", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
      {"chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400},
      {"chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 400},
      {"identity", post("Transfer-Encoding: identity\r\n"), 400},
      {"quoted chunked", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400},
      {"chunked with vertical tab",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      // Lines.
      {"folded line", get("Host: h\r\nX: a\r\n b\r\n"), 400},
      {"folded with tab", get("Host: h\r\nX: a\r\n\tb\r\n"), 400},
      {"fold of transfer-encoding", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400},
      {"space before first field", get(" Host: h\r\n"), 400},
      {"space before colon", get("Host : h\r\n"), 400},
      {"length with space before colon", post("Content-Length : 1\r\n", "x"), 400},
      {"no colon", get("Host: h\r\nX\r\n"), 400},
      {"empty name", get("Host: h\r\n: x\r\n"), 400},
      {"bare line feed", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
      {"bare line feed in value", get("Host: h\r\nX: a\nY: b\r\n"), 400},
      {"bare carriage return in value", get("Host: h\r\nX: a\rY: b\r\n"), 400},
      {"nul in value", get(std::string_view("Host: h\r\nX: a\0b\r\n", 17)), 400},
      {"control in name", get("Host: h\r\nX\x01: a\r\n"), 400},
      // Host.
      {"no host", get(""), 400},
      {"two hosts", get("Host: h\r\nHost: h\r\n"), 400},
      {"two hosts in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"empty host", get("Host:\r\n"), 0},
      {"v6 host", get("Host: [::1]:80\r\n"), 0},
      {"host with space", get("Host: a b\r\n"), 400},
      {"host with comma", get("Host: a,b\r\n"), 400},
      {"host with path", get("Host: a/b\r\n"), 400},
      {"host with user", get("Host: a@b\r\n"), 400},
      // Request line.
      {"2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"preface of 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"0.9", "GET /\r\n\r\n", 400},
      {"version in lower case", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
      {"version with more digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"method with space", "G ET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"method with colon", "GE:T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"unknown method", "BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 0},
      {"not http", "\x16\x03\x01\x02\r\n\r\n", 400},
      {"target without slash", target("x"), 400},
      {"authority target", "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n", 400},
      {"asterisk", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 0},
      {"asterisk of GET", target("*"), 400},
      {"absolute target", target("http://H/x"), 0},
      {"absolute target of another host", target("http://other/x"), 400},
      {"absolute target of another scheme", target("ftp://h/x"), 400},
      {"escaped nul", target("/%00"), 400},
      {"escaped nul in query", target("/?a=%00"), 400},
      {"short escape", target("/%2"), 400},
      {"malformed escape", target("/%zz"), 400},
      {"fragment", target("/#x"), 400},
      {"raw byte over 127", target("/\xff"), 400},
      {"escaped bytes that are no UTF-8", target("/%ff"), 400},
      {"escaped UTF-8", target("/%c3%a4"), 0},
      // Chunks.
      {"two chunks", chunked("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), 0},
      {"chunk size in capitals", chunked("A\r\n0123456789\r\n0\r\n\r\n"), 0},
      {"chunk without size", chunked("\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk size signed", chunked("+2\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk size with prefix", chunked("0x2\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk size overflow", chunked("10000000000000002\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk longer than its size", chunked("2\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk ended by line feed", chunked("2\nab\r\n0\r\n\r\n"), 400},
      {"line feed in a chunk extension", chunked("2;a=\"\n\"\r\nab\r\n0\r\n\r\n"), 400},
      {"length in a trailer", chunked("0\r\nContent-Length: 5\r\n\r\n"), 400},
      {"chunked body too large", chunked("200001\r\n"), 413},
      // Expectations.
      {"expects continue", post("Expect: 100-Continue\r\nContent-Length: 1\r\n", "x"), 0},
      {"expects something else", post("Expect: 200-ok\r\nContent-Length: 1\r\n", "x"), 417},
  };
}

class RequestShapes : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Each, RequestShapes, testing::ValuesIn(cases()));

TEST_P(RequestShapes, AreTakenOrRefusedAsTheTableSays) {
  const auto parsed = parse(GetParam().bytes);
  EXPECT_EQ(parsed.status, GetParam().status);
  EXPECT_EQ(parsed.state == RequestParser::State::kDone, GetParam().status == 0);
}

TEST_P(RequestShapes, AreTheSameByteByByte) {
  const auto whole = parse(GetParam().bytes);
  const auto bytewise = parse(GetParam().bytes, 1);
  EXPECT_EQ(bytewise.status, whole.status);
  EXPECT_EQ(bytewise.state, whole.state);
  if (whole.state != RequestParser::State::kDone) return;
  EXPECT_EQ(bytewise.consumed, whole.consumed);
  EXPECT_EQ(bytewise.keep_alive, whole.keep_alive);
  EXPECT_EQ(bytewise.request.path, whole.request.path);
  EXPECT_EQ(bytewise.request.headers, whole.request.headers);
  EXPECT_EQ(bytewise.request.body, whole.request.body);
}

TEST(RequestParser, KeepsAliveAsAskedButNeverHttp10) {
  EXPECT_TRUE(parse(get("Host: h\r\n")).keep_alive);
  EXPECT_FALSE(parse(get("Host: h\r\nConnection: x, Close\r\n")).keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
}

TEST(RequestParser, BoundsTheHeader) {
  const ParserLimits limits{.header_bytes = 200, .header_fields = 4, .body_bytes = 10};
  const std::string exact = get("Host: h\r\nX: " + std::string(200 - get("Host: h\r\nX: \r\n").size(), 'x') + "\r\n");
  EXPECT_EQ(exact.size(), 200U);
  EXPECT_EQ(parse(exact, 1, limits).state, RequestParser::State::kDone);
  const std::string larger = get("Host: h\r\nX: " + std::string(150, 'x') + "y\r\nZ: 1234567890123\r\n");
  EXPECT_EQ(parse(larger, std::string::npos, limits).status, 431);
  // Before its end has come, too.
  EXPECT_EQ(parse("GET /" + std::string(200, 'x'), 1, limits).status, 431);
  EXPECT_EQ(parse(get("Host: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n"), 1, limits).state, RequestParser::State::kDone);
  EXPECT_EQ(parse(get("Host: h\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n"), 1, limits).status, 431);
}

TEST(RequestParser, BoundsBodyChunkLineAndTrailer) {
  const ParserLimits limits{.header_bytes = 200, .header_fields = 4, .body_bytes = 10};
  EXPECT_EQ(parse(post("Content-Length: 10\r\n", "0123456789"), 1, limits).state, RequestParser::State::kDone);
  EXPECT_EQ(parse(post("Content-Length: 11\r\n"), 1, limits).status, 413);
  EXPECT_EQ(parse(chunked("6\r\nabcdef\r\n4\r\nabcd\r\n0\r\n\r\n"), 1, limits).state, RequestParser::State::kDone);
  EXPECT_EQ(parse(chunked("6\r\nabcdef\r\n5\r\nabcde\r\n0\r\n\r\n"), 1, limits).status, 413);
  EXPECT_EQ(parse(chunked("1;" + std::string(300, 'x')), 1, limits).status, 431);
  EXPECT_EQ(parse(chunked("0\r\nX: " + std::string(300, 'x')), 1, limits).status, 431);
  EXPECT_EQ(parse(chunked("0\r\nA: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n\r\n"), 1, limits).status, 431);
}

TEST(RequestParser, BoundsChunkLineAndTrailerAlikeHoweverTheyArrive) {
  const ParserLimits limits{.header_bytes = 200, .header_fields = 4, .body_bytes = 1000};
  const std::string most = "0\r\nX: " + std::string(190, 'x') + "\r\n\r\n";
  ASSERT_EQ(most.size(), 200U);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::string::npos}) {
    EXPECT_EQ(parse(chunked(most), step, limits).state, RequestParser::State::kDone) << step;
    EXPECT_EQ(parse(chunked("0\r\nX: x" + most.substr(6)), step, limits).status, 431) << step;
    EXPECT_EQ(parse(chunked("0\r\nno field\r\n" + most.substr(3)), step, limits).status, 431) << step;
    EXPECT_EQ(parse(chunked("1;" + std::string(200, 'x') + "\r\na\r\n0\r\n\r\n"), step, limits).status, 431) << step;
    const std::string body(700, 'b');
    EXPECT_EQ(parse(chunked("2bc\r\n" + body + "\r\n0\r\n\r\n"), step, limits).request.body, body) << step;
  }
}

TEST(RequestParser, CountsAChunkAgainstTheBodyOnceHoweverOftenItsLineIsPresented) {
  const std::string unclosed = chunked("1f4;a=\"\r\n" + std::string(50, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::string::npos}) {
    EXPECT_EQ(parse(unclosed, step, {.body_bytes = 1000}).state, RequestParser::State::kBody) << step;
    EXPECT_EQ(parse(unclosed + "\"\r\n", step, {.body_bytes = 1000}).status, 400) << step;
  }
}

TEST(RequestParser, StopsBehindTheHeaderSoThatItCanBeJudgedFirst) {
  RequestParser parser({});
  const std::string head = post("Content-Length: 5\r\nExpect: 100-continue\r\n");
  EXPECT_EQ(parser.feed(head + "hello"), head.size());
  EXPECT_EQ(parser.state(), RequestParser::State::kBody);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_EQ(parser.feed("hello"), 5U);
  EXPECT_EQ(parser.state(), RequestParser::State::kDone);
}

TEST(RequestParser, TakesTheHeaderApartOfABodyThatItWillNotRead) {
  const std::string head = post("Content-Length: 5\r\nAuthorization: me\r\n");
  const auto parsed = parse(head + "hello", std::string::npos, {.body_bytes = 4});
  EXPECT_EQ(parsed.state, RequestParser::State::kOversized);
  EXPECT_EQ(parsed.status, 413);
  EXPECT_EQ(parsed.consumed, head.size());
  EXPECT_EQ(parsed.request.header("authorization"), "me");
}

}  // namespace
}  // namespace agentd::http
