#include "llm/failure.h"

#include <gtest/gtest.h>

namespace agentd::llm {
namespace {

TEST(Failure, TellsWhatMayPassFromWhatMayNot) {
  for (const int status : {301, 307, 400, 401, 402, 403, 404, 405, 413, 422}) {
    EXPECT_EQ(failure_of_status(status, "", "m").code, Code::kConfig) << status;
  }
  for (const int status : {408, 409, 425, 429, 500, 501, 502, 503, 504, 529}) {
    EXPECT_EQ(failure_of_status(status, "", "m").code, Code::kUnavailable) << status;
  }
  EXPECT_EQ(failure_of_status(429, R"({"error":{"type":"insufficient_quota","message":"pay"}})", "m").code,
            Code::kConfig);
  EXPECT_EQ(failure_of_status(500, R"({"error":{"type":"invalid_request_error"}})", "m").code, Code::kUnavailable);
}

TEST(Failure, SaysWhatToDo) {
  const auto message = [](int status) { return failure_of_status(status, "", "gpt").message; };
  EXPECT_EQ(message(302),
            "it redirects, which is not followed; put the final address in `endpoint` of agent.model (HTTP 302)");
  EXPECT_EQ(message(401), "it refuses the key; see `api_key` of agent.model (HTTP 401)");
  EXPECT_EQ(message(403), "it forbids this; see what the key in `api_key` of agent.model may use (HTTP 403)");
  EXPECT_EQ(message(404),
            "nothing there; see `endpoint` of agent.model, and whether there is a model 'gpt' (HTTP 404)");
  EXPECT_EQ(message(400), "it refuses the request; see `model` of agent.model (HTTP 400)");
  EXPECT_EQ(message(503), "it cannot answer now (HTTP 503)");
}

TEST(Failure, RepeatsTheProvidersWords) {
  const auto words = [](std::string_view body) {
    const auto message = failure_of_status(500, body, "m").message;
    return message.substr(message.find(')') + 1);
  };
  EXPECT_EQ(words(R"({"error":{"message":"boom","type":"t"}})"), ": boom");
  EXPECT_EQ(words(R"({"type":"error","error":{"type":"overloaded_error"}})"), ": overloaded_error");
  EXPECT_EQ(words(R"({"error":"boom"})"), ": boom");
  EXPECT_EQ(words(R"({"detail":"boom"})"), ": boom");
  EXPECT_EQ(words("bad gateway \xff"), ": bad gateway \xEF\xBF\xBD");
  EXPECT_EQ(words(" <html><h1>502</h1>"), "");
  EXPECT_EQ(words("[]"), "");
  EXPECT_EQ(words(""), "");
}

TEST(Failure, ReadsRetryAfter) {
  constexpr std::int64_t kNow = 1'796'097'600'000;  // Tue, 01 Dec 2026 04:00:00 GMT
  EXPECT_EQ(retry_after_ms("7", kNow), 7'000);
  EXPECT_EQ(retry_after_ms("0", kNow), 0);
  EXPECT_EQ(retry_after_ms("301", kNow), 300'000);
  EXPECT_EQ(retry_after_ms("99999999999999", kNow), 300'000);
  EXPECT_EQ(retry_after_ms("Tue, 01 Dec 2026 04:00:09 GMT", kNow), 9'000);
  EXPECT_EQ(retry_after_ms("Tue, 01 Dec 2026 03:59:59 GMT", kNow), 0);
  EXPECT_EQ(retry_after_ms("Wed, 01 Dec 2027 04:00:00 GMT", kNow), 300'000);
  for (const auto* nonsense : {"", "-1", "soon", "7 s", "1.5", "Tue, 01 Dec"}) {
    EXPECT_EQ(retry_after_ms(nonsense, kNow), 0) << nonsense;
  }
}

}  // namespace
}  // namespace agentd::llm
