#include <gtest/gtest.h>

#include "wire/cors.h"
#include "wire/events_query.h"
#include "wire/jsonrpc.h"
#include "wire/pages.h"
#include "wire/sse.h"

namespace agentd::wire {
namespace {

int code_of(const char* body) {
  const auto envelope = read_envelope(body);
  return envelope ? 0 : error_json(envelope.error().error)["code"].get<int>();
}

TEST(JsonRpc, RefusesWhatIsNoEnvelope) {
  EXPECT_EQ(code_of("{"), -32700);
  for (const char* bad : {"[]", "1", "{}", R"({"jsonrpc":"2.0","method":"m"})",
                          R"({"jsonrpc":"2.0","id":null,"method":"m"})", R"({"jsonrpc":"2.0","id":1.5,"method":"m"})",
                          R"({"jsonrpc":"2.0","id":1.0,"method":"m"})", R"({"jsonrpc":"1.0","id":1,"method":"m"})",
                          R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":7})"}) {
    EXPECT_EQ(code_of(bad), -32600) << bad;
  }
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[]})"), -32602);
}

TEST(JsonRpc, KeepsTheIdExactlyAsItCame) {
  for (const char* id : {"0", "-7", "18446744073709551615", R"("a\"b")", R"("")"}) {
    const auto envelope = read_envelope(R"({"jsonrpc":"2.0","method":"m","id":)" + std::string(id) + "}");
    ASSERT_TRUE(envelope) << id;
    EXPECT_EQ(result_text(envelope->id, 1), R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":1})");
  }
}

TEST(JsonRpc, AnswersAnUnsoundIdWithNullAndASoundOneWithItself) {
  EXPECT_EQ(read_envelope(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})").error().id, Json());
  EXPECT_EQ(read_envelope(R"({"jsonrpc":"1.0","id":4,"method":"m"})").error().id, 4);
}

TEST(JsonRpc, KeepsAnIntegerThatDoesNotFitForWhenParamsAreRead) {
  const auto envelope =
      read_envelope(R"({"jsonrpc":"2.0","id":"x","method":"m","params":{"fromSeq":18446744073709551616}})");
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->id, "x");
  EXPECT_EQ(error_json(envelope->unkept.value())["code"], -32602);
  EXPECT_EQ(envelope->unkept->violations.at(0).field, "params.fromSeq");
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":18446744073709551616,"method":"m"})"), -32600);
}

TEST(JsonRpc, RefusesWhatIsNotJsonAlsoBehindAnIntegerThatDoesNotFit) {
  const std::string front = R"({"jsonrpc":"2.0","id":"x","method":"m","params":{"fromSeq":18446744073709551616)";
  for (const std::string& tail :
       {std::string(), std::string("}}}"), std::string(R"(,"a":)") + std::string(1U << 20U, '['),
        std::string("},\"id\":") + std::string(1U << 20U, '[')}) {
    EXPECT_EQ(code_of((front + tail).c_str()), -32700) << tail.substr(0, 20);
  }
}

TEST(JsonRpc, DoesNotSendABadBodyBack) {
  const auto refused = read_envelope("\"" + std::string(100'000, 'a') + "\n");
  EXPECT_LT(refused.error().error.message.size(), 1'000U);
}

TEST(JsonRpc, ErrorsCarryViolationsThenErrorInfo) {
  const Json error =
      error_json({.code = Code::kUnknownOp, .message = "m", .violations = {{"f", "d"}}, .metadata = {{"op", "x"}}});
  EXPECT_EQ(
      dump_json(error["data"]),
      R"([{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"f","description":"d"}]},)"
      R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNKNOWN_OP","domain":"agentd.dev","metadata":{"op":"x"}}])");
}

TEST(JsonRpc, ChallengesTellNothingPresentedFromWrong) {
  const auto challenge = [](Error error) {
    error.code = Code::kUnauthenticated;
    const http::Response response = error_response(nullptr, error);
    EXPECT_EQ(response.status, 401);
    return response.headers.back().second;
  };
  EXPECT_EQ(challenge({}), R"(Bearer realm="agentd")");
  EXPECT_EQ(challenge({.metadata = {{"error", "invalid_token"}}}), R"(Bearer realm="agentd", error="invalid_token")");
}

TEST(EventsQuery, ReadsItsParametersAndRefusesOthers) {
  http::Request request;
  request.query = {{"fromSeq", "7"}, {"kinds", "task,run"}, {"follow", "false"}};
  auto query = read_events_query(request);
  ASSERT_TRUE(query);
  EXPECT_EQ(query->from_seq, 7U);
  EXPECT_FALSE(query->follow);
  EXPECT_FALSE(query->kinds.contains(feed::Kind::kAudit));
  request.headers = {{"last-event-id", "9"}};
  EXPECT_EQ(read_events_query(request)->from_seq, 9U);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"fromSeq", "-1"},
                                                                                    {"fromSeq", "18446744073709551616"},
                                                                                    {"kinds", "tsak"},
                                                                                    {"follow", "no"},
                                                                                    {"from", "1"}}) {
    request.query = {{name, value}};
    EXPECT_FALSE(read_events_query(request)) << name << "=" << value;
  }
}

TEST(Pages, AnswerNotModifiedToWhoHoldsThePage) {
  Pages pages;
  pages.add("/p", "text/plain", "body", 60);
  http::Request request{.method = "GET", .path = "/p"};
  const http::Response whole = pages.get(request);
  EXPECT_EQ(whole.status, 200);
  request.headers = {{"If-None-Match", "\"x\", " + whole.headers.front().second}};
  EXPECT_EQ(pages.get(request).status, 304);
  EXPECT_EQ(pages.get(request).body, "");
}

std::string value_of(const http::Response& response, std::string_view name) {
  std::string all;
  for (const auto& [header, value] : response.headers) {
    if (header == name) all += value;
  }
  return all;
}

TEST(Cors, APreflightIsAskedByAPageAndNamesWhatMayBeSent) {
  EXPECT_TRUE(is_preflight({.method = "OPTIONS", .headers = {{"origin", "https://ui.example"}}}));
  EXPECT_FALSE(is_preflight({.method = "OPTIONS"}));
  EXPECT_FALSE(is_preflight({.method = "GET", .headers = {{"Origin", "https://ui.example"}}}));
  const http::Response answer = preflight_response();
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(value_of(answer, "Access-Control-Allow-Methods"), "POST, GET, OPTIONS");
  EXPECT_EQ(value_of(answer, "Access-Control-Allow-Headers"),
            "content-type, authorization, last-event-id, a2a-extensions, a2a-version");
  EXPECT_EQ(value_of(answer, "Access-Control-Allow-Credentials"), "");
}

// Keeps the answer.
struct KeptExchange final : http::Exchange {
  [[nodiscard]] const http::Request& request() const override { return asked; }
  void respond(http::Response response) override { told = std::move(response); }
  std::function<void()> stream(http::Response head, std::shared_ptr<http::StreamSource>, http::StreamLimits) override {
    told = std::move(head);
    return [] {};
  }
  void on_abandoned(std::function<void()> gone) override { gone(); }

  http::Request asked{.method = "POST", .headers = {{"Origin", "https://ui.example"}}};
  http::Response told;
};

TEST(Cors, AnAnswerAndAStreamAreReadableByTheOriginThatAsked) {
  for (const bool stream : {false, true}) {
    const auto kept = std::make_shared<KeptExchange>();
    const auto exchange = readable_by_origin(kept);
    bool gone = false;
    exchange->on_abandoned([&gone] { gone = true; });
    EXPECT_TRUE(gone);
    stream ? exchange->stream(stream_head(""), nullptr, {})() : exchange->respond({.status = 429});
    EXPECT_EQ(kept->told.status, stream ? 200 : 429);
    EXPECT_EQ(value_of(kept->told, "Access-Control-Allow-Origin"), "https://ui.example");
    EXPECT_EQ(value_of(kept->told, "Access-Control-Expose-Headers"), "a2a-extensions, retry-after, www-authenticate");
    EXPECT_EQ(value_of(kept->told, "Vary"), "Origin");
  }
}

}  // namespace
}  // namespace agentd::wire
