#include "llm/anthropic.h"

#include <gtest/gtest.h>

#include "llm/stream_fixture.h"

namespace agentd::llm {
namespace {

using Role = ChatMessage::Role;
using Stop = Completion::Stop;

config::Endpoint endpoint_of(std::string url) {
  return {.url = std::move(url), .model = "m", .api_key = config::Secret{.value = "k-1", .source = "env K"}};
}

Decoded decode_events(std::initializer_list<std::string_view> data) {
  return decode(config::Provider::kAnthropic, events(data));
}

constexpr std::string_view kStart = R"({"type":"message_start","message":{"usage":{"input_tokens":9}}})";
constexpr std::string_view kText =
    R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}})";
constexpr std::string_view kBlockStop = R"({"type":"content_block_stop","index":0})";
constexpr std::string_view kReason = R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})";
constexpr std::string_view kStop = R"({"type":"message_stop"})";

TEST(AnthropicRequest, HasUrlAndHeaders) {
  const auto request = anthropic_request({}, {}, endpoint_of("https://host/v1"));
  EXPECT_EQ(request.url, "https://host/v1/messages");
  EXPECT_EQ(anthropic_request({}, {}, endpoint_of("https://host/v1/")).url, request.url);
  EXPECT_EQ(request.headers, (http::Headers{{"Content-Type", "application/json"},
                                            {"Accept", "text/event-stream"},
                                            {"anthropic-version", "2023-06-01"},
                                            {"x-api-key", "k-1"}}));
}

TEST(AnthropicRequest, SaysAWholeConversationWithRolesThatAlternate) {
  const ChatRequest request{
      .instructions = "Be brief.",
      .messages = {{.text = "Weather?"},
                   {.text = " \n"},
                   {.role = Role::kAssistant,
                    .text = "Let me look.",
                    .calls = {{.id = "functions.weather:0", .name = "weather", .arguments = {{"city", "Oslo"}}},
                              {.id = "c2", .name = "now", .arguments = "{\"a"}}},
                   {.role = Role::kTool, .text = "rain", .call_id = "functions.weather:0"},
                   {.role = Role::kTool, .text = "no clock", .call_id = "c2", .is_error = true},
                   {.text = "Quick!"},
                   {.role = Role::kAssistant, .text = "Rain."},
                   {.role = Role::kAssistant, .text = "All day."}},
      .tools = {{.name = "weather", .description = "Of a city", .schema = {{"type", "object"}}}}};
  const config::Model model{.max_tokens = 100, .temperature = 0.5};
  EXPECT_EQ(Json::parse(anthropic_request(request, model, endpoint_of("http://host")).body), Json::parse(R"({
    "model": "m",
    "max_tokens": 100,
    "stream": true,
    "system": "Be brief.",
    "temperature": 0.5,
    "tools": [{"name": "weather", "description": "Of a city", "input_schema": {"type": "object"}}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
      {"role": "assistant", "content": [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "functions_weather_0", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "c2", "name": "now", "input": {"malformed": "{\"a"}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "functions_weather_0", "content": "rain"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no clock", "is_error": true},
        {"type": "text", "text": "Quick!"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "Rain."}, {"type": "text", "text": "All day."}]}]})"));
}

TEST(AnthropicDecoder, TakesAnAnswerThatIsNotStreamed) {
  const auto decoded = decode(config::Provider::kAnthropic, R"({"type":"message","role":"assistant","content":[
    {"type":"text","text":"Hi"},{"type":"tool_use","id":"x","name":"a","input":{"n":1}}],
    "stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}})",
                              7, "application/json");
  ASSERT_TRUE(decoded.answer) << decoded.answer.error().message;
  EXPECT_EQ(*decoded.answer, (Completion{.text = "Hi",
                                         .calls = {{.id = "x", .name = "a", .arguments = {{"n", 1}}}},
                                         .usage = {.input = 3, .output = 4},
                                         .stop = Stop::kTools}));
  EXPECT_EQ(decoded.text, "Hi");
}

TEST(AnthropicDecoder, KnowsWhyAnAnswerEnds) {
  const std::pair<std::string, Stop> reasons[] = {{"end_turn", Stop::kEnd},
                                                  {"stop_sequence", Stop::kEnd},
                                                  {"tool_use", Stop::kEnd},
                                                  {"max_tokens", Stop::kLength},
                                                  {"model_context_window_exceeded", Stop::kLength},
                                                  {"refusal", Stop::kRefused}};
  for (const auto& [reason, stop] : reasons) {
    const auto decoded = decode_events(
        {kStart, kText, kBlockStop, R"({"type":"message_delta","delta":{"stop_reason":")" + reason + R"("}})", kStop});
    ASSERT_TRUE(decoded.answer) << reason;
    EXPECT_EQ(decoded.answer->stop, stop) << reason;
  }
}

TEST(AnthropicDecoder, ReadsOverEventsAndBlocksThatItDoesNotKnow) {
  const auto decoded = decode_events(
      {R"({"type":"later_invention"})", kStart,
       R"({"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}})", kBlockStop,
       kText, kBlockStop, R"({"type":"another"})", kReason, kStop});
  ASSERT_TRUE(decoded.answer) << decoded.answer.error().message;
  EXPECT_EQ(*decoded.answer, (Completion{.text = "a", .calls = {}, .usage = {.input = 9, .output = 1}}));
}

TEST(AnthropicDecoder, RefusesWhatIsOutOfOrder) {
  const auto* piece = R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}})";
  const auto* call =
      R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"a"}})";
  const std::pair<std::vector<std::string_view>, std::string> faults[] = {
      {{kText}, "it does not begin with message_start"},
      {{kStop}, "it does not begin with message_start"},
      {{kStart, kStart}, "it begins twice"},
      {{kStart, R"({"type":"message"})"}, "it begins twice"},
      {{kStart, kText, kText}, "a block begins within another"},
      {{kStart, kText, kBlockStop, kReason, kText}, "a block begins after its end"},
      {{kStart, R"({"type":"content_block_start"})"}, "a block without an index"},
      {{kStart, piece}, "a piece of a block that is not open"},
      {{kStart, kText, kBlockStop, piece}, "a piece of a block that is not open"},
      {{kStart, kText, R"({"type":"content_block_delta","index":1})"}, "a piece of a block that is not open"},
      {{kStart, call, piece}, "text within a block that is none"},
      {{kStart, kBlockStop}, "the end of a block that is not open"},
      {{kStart, kText, kReason, kStop}, "it ends within a block"},
      {{kStart, kText, kBlockStop, kStop}, "it does not say why it ends"}};
  for (const auto& [data, what] : faults) {
    std::string stream;
    for (const auto event : data) stream += events({event});
    const auto decoded = decode(config::Provider::kAnthropic, stream);
    ASSERT_FALSE(decoded.answer) << what;
    EXPECT_EQ(decoded.answer.error().message, "the answer is malformed: " + what);
    EXPECT_EQ(decoded.answer.error().code, Code::kUnavailable);
  }
}

TEST(AnthropicDecoder, TakesItsErrors) {
  const std::pair<std::string, Code> faults[] = {{"overloaded_error", Code::kUnavailable},
                                                 {"api_error", Code::kUnavailable},
                                                 {"rate_limit_error", Code::kUnavailable},
                                                 {"invalid_request_error", Code::kConfig}};
  for (const auto& [type, code] : faults) {
    const auto decoded =
        decode_events({kStart, kText, R"({"type":"error","error":{"type":")" + type + R"(","message":"Overloaded"}})"});
    ASSERT_FALSE(decoded.answer) << type;
    EXPECT_EQ(decoded.answer.error().code, code) << type;
    EXPECT_TRUE(decoded.answer.error().message.ends_with(": Overloaded")) << decoded.answer.error().message;
    EXPECT_EQ(decoded.text, "a");
  }
}

TEST(AnthropicDecoder, TakesAnEmptyAnswerForNone) {
  const auto decoded = decode_events({kStart, kReason, kStop});
  ASSERT_FALSE(decoded.answer);
  EXPECT_EQ(decoded.answer.error().message, "the answer is empty");
}

}  // namespace
}  // namespace agentd::llm
