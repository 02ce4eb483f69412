#include "client/rpc.h"

#include <gtest/gtest.h>

#include "client/rpc_error.h"
#include "http/fake_server.h"

namespace agentd::client {
namespace {

using http::FakeExchange;
using http::FakeServer;

TEST(Rpc, NamesVersionExtensionsAndToken) {
  FakeServer server([](FakeExchange& exchange) {
    for (const char* line : {"A2A-Version: 1.0\r\n", "A2A-Extensions: https://agentd.dev/a2a/ext/events,x\r\n",
                             "Authorization: Bearer secret\r\n", "Content-Type: application/json\r\n"}) {
      EXPECT_NE(exchange.head().find(line), std::string::npos) << line;
    }
    EXPECT_EQ(exchange.json()["method"], "GetTask");
    EXPECT_EQ(exchange.json()["params"]["id"], "t1");
    exchange.answer_result({{"id", "t1"}});
  });
  const Stop stop;
  const Rpc rpc({.url = server.url(), .token = "secret"}, stop);
  const auto result = rpc.call({.method = "GetTask", .params = {{"id", "t1"}}, .extensions = {kEventsUri, "x"}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)["id"], "t1");
}

TEST(Rpc, AnErrorComesWithReasonMetadataAndViolations) {
  const Error error = decode_rpc_error(Json::parse(R"({"code":-32602,"message":"no","data":[
    {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"params.a","description":"bad"}]},
    {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNKNOWN_OP","metadata":{"op":"x"}}]})"));
  EXPECT_EQ(error.code, Code::kUnknownOp);
  EXPECT_EQ(error.message, "no");
  EXPECT_EQ(error.violations, (std::vector<FieldViolation>{{"params.a", "bad"}}));
  ASSERT_EQ(error.metadata.size(), 1U);
  EXPECT_EQ(decode_rpc_error(Json::parse(R"({"code":-32001,"message":"gone"})")).code, Code::kTaskNotFound);
  EXPECT_EQ(decode_rpc_error(Json(3)).code, Code::kInternal);
}

TEST(Rpc, AStatusWithoutJsonRpcIsDecodedToo) {
  const ResponseHead limited{.status = 429, .headers = {{"retry-after", "7"}}};
  const Error error = decode_http_error(limited, "slow down");
  EXPECT_EQ(error.code, Code::kRateLimited);
  EXPECT_EQ(retry_after_ms(error), 7000);
  EXPECT_EQ(decode_http_error({.status = 403, .headers = {}}, "").code, Code::kPermissionDenied);
  EXPECT_EQ(decode_http_error({.status = 502, .headers = {}}, "<html>").code, Code::kUnavailable);
  EXPECT_EQ(decode_http_error({.status = 503, .headers = {}}, R"({"error":{"code":-32603,"message":"m"}})").code,
            Code::kUnavailable);
}

TEST(Rpc, RetryAfterIsBoundedAndADateIsNone) {
  const auto wait = [](const char* value) {
    return retry_after_ms({.code = Code::kRateLimited, .message = "", .metadata = {{"retryAfterSeconds", value}}});
  };
  EXPECT_EQ(wait("86400"), 300'000);
  EXPECT_EQ(wait("99999999999999999999"), 300'000);
  EXPECT_EQ(wait("-5"), 0);
  EXPECT_EQ(wait("Wed, 21 Oct 2026 07:28:00 GMT"), 0);
}

TEST(Rpc, AnAnswerThatIsNoResponseIsRefused) {
  for (const char* body : {"<html>", "[]", "{}", R"({"jsonrpc":"2.0","id":9,"result":{}})"}) {
    FakeServer server([body](FakeExchange& exchange) { exchange.answer(200, body); });
    const Stop stop;
    const auto result = Rpc({.url = server.url()}, stop).call({.method = "GetTask"});
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().code, Code::kParse) << body;
  }
}

TEST(Rpc, AStreamDeliversResultsAndCommentsInOrder) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_result("one");
    exchange.send_chunk(": 5\n\nda");
    exchange.send_chunk("ta: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"two\"}\n\n");
    exchange.end_chunks();
  });
  const Stop stop;
  std::string seen;
  const RpcSink sink{.result =
                         [&](const Json& result) {
                           seen += result.get<std::string>() + ";";
                           return true;
                         },
                     .comment =
                         [&](std::string_view comment) {
                           seen += "#" + std::string(comment) + ";";
                           return true;
                         }};
  EXPECT_EQ(Rpc({.url = server.url()}, stop).stream({.method = "SendStreamingMessage"}, sink), StreamEnd::kComplete);
  EXPECT_EQ(seen, "one;#5;two;");
}

TEST(Rpc, AStreamThatIsRefusedInPlainJsonIsThatError) {
  FakeServer server([](FakeExchange& exchange) {
    exchange.answer(200, R"({"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"terminal"}})");
  });
  const Stop stop;
  const auto end = Rpc({.url = server.url()}, stop).stream({.method = "SubscribeToTask"}, {.result = [](const Json&) {
                                                             ADD_FAILURE() << "no result was sent";
                                                             return false;
                                                           }});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, Code::kUnsupportedOperation);
}

}  // namespace
}  // namespace agentd::client
