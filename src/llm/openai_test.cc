#include "llm/openai.h"

#include <gtest/gtest.h>

#include "llm/stream_fixture.h"

namespace agentd::llm {
namespace {

using Role = ChatMessage::Role;
using Stop = Completion::Stop;

config::Endpoint endpoint_of(std::string url) {
  return {.url = std::move(url), .model = "m", .api_key = config::Secret{.value = "k-1", .source = "env K"}};
}

Json body_of(const ChatRequest& request, const config::Model& model = {},
             const std::string& url = "http://127.0.0.1:11434/v1") {
  return Json::parse(openai_request(request, model, endpoint_of(url)).body);
}

Decoded decode_events(std::initializer_list<std::string_view> data) {
  return decode(config::Provider::kOpenAi, events(data));
}

TEST(OpenAiRequest, HasUrlAndHeaders) {
  const auto request = openai_request({}, {}, endpoint_of("https://host/v1"));
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://host/v1/chat/completions");
  EXPECT_EQ(openai_request({}, {}, endpoint_of("https://host/v1/")).url, request.url);
  EXPECT_EQ(request.headers, (http::Headers{{"Content-Type", "application/json"},
                                            {"Accept", "text/event-stream"},
                                            {"Authorization", "Bearer k-1"}}));
  EXPECT_EQ(openai_request({}, {}, {.url = "http://host", .model = "m"}).headers.size(), 2);
}

TEST(OpenAiRequest, SaysAWholeConversation) {
  const ChatRequest request{.instructions = "Be brief.",
                            .messages = {{.text = "Weather?"},
                                         {.role = Role::kAssistant,
                                          .calls = {{.id = "c1", .name = "weather", .arguments = {{"city", "Oslo"}}},
                                                    {.id = "c2", .name = "now", .arguments = "{\"a"}}},
                                         {.role = Role::kTool, .text = "rain", .call_id = "c1"},
                                         {.role = Role::kTool, .text = "no clock", .call_id = "c2", .is_error = true},
                                         {.role = Role::kAssistant, .text = "Rain."},
                                         {.text = "And"},
                                         {.text = "tomorrow?"}},
                            .tools = {{.name = "weather", .description = "Of a city", .schema = {{"type", "object"}}}}};
  EXPECT_EQ(body_of(request, {.max_tokens = 100, .temperature = 0.5}), Json::parse(R"({
    "model": "m",
    "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "Weather?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
        {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{\"a"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "rain"},
      {"role": "tool", "tool_call_id": "c2", "content": "Error: no clock"},
      {"role": "assistant", "content": "Rain."},
      {"role": "user", "content": "And\n\ntomorrow?"}],
    "stream": true,
    "stream_options": {"include_usage": true},
    "max_tokens": 100,
    "temperature": 0.5,
    "tools": [{"type": "function",
               "function": {"name": "weather", "description": "Of a city", "parameters": {"type": "object"}}}]})"));
}

TEST(OpenAiRequest, NamesTheBoundOfTheAnswerAsTheServerKnowsIt) {
  EXPECT_EQ(body_of({}, {.max_tokens = 5}, "https://api.openai.com/v1")["max_completion_tokens"], 5);
  EXPECT_FALSE(body_of({}, {}, "https://api.openai.com/v1").contains("max_tokens"));
  EXPECT_FALSE(body_of({}).contains("max_completion_tokens"));
  EXPECT_FALSE(body_of({}).contains("temperature"));
  EXPECT_FALSE(body_of({}).contains("tools"));
}

TEST(OpenAiDecoder, TakesCallsAsServersWriteThem) {
  // Whole, without index and id; whole, all with index 0; arguments as an object, as nothing, as what is no object.
  const auto decoded = decode_events(
      {R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"n\":1}"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"b","arguments":{"n":2}}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"c","arguments":"{}"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"d","arguments":null}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"d","arguments":""}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":5,"id":"y","function":{"name":"e","arguments":"[1"}}]}}]})",
       R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(decoded.answer) << decoded.answer.error().message;
  EXPECT_EQ(decoded.answer->stop, Stop::kTools);
  const auto& calls = decoded.answer->calls;
  ASSERT_EQ(calls.size(), 5);
  const Json arguments[] = {{{"n", 1}}, {{"n", 2}}, Json::object(), Json::object(), "[1"};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].name, std::string(1, static_cast<char>('a' + i)));
    EXPECT_EQ(calls[i].arguments, arguments[i]) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(calls[i].id, calls[j].id);
  }
  EXPECT_TRUE(calls[0].id.starts_with("call_"));
  EXPECT_EQ(calls[3].id, "y");
}

TEST(OpenAiDecoder, GoesOnWithTheLatestCallWithoutAnIndex) {
  const auto decoded = decode_events(
      {R"({"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{\"n\""}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]})"});
  ASSERT_TRUE(decoded.answer);
  EXPECT_EQ(decoded.answer->calls, (std::vector<ToolCall>{{.id = "x", .name = "a", .arguments = {{"n", 1}}}}));
}

TEST(OpenAiDecoder, EstimatesTokensThatNobodyCounted) {
  const auto decoded = decode_events({R"({"choices":[{"delta":{"content":"12345678","reasoning_content":"Hm"}}]})",
                                      R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(decoded.answer);
  EXPECT_EQ(decoded.answer->usage, (Usage{.input = 100, .output = 2}));
  EXPECT_EQ(decoded.text, "12345678");
}

TEST(OpenAiDecoder, KnowsWhyAnAnswerEnds) {
  const std::pair<std::string, Stop> reasons[] = {{"stop", Stop::kEnd},
                                                  {"eos_token", Stop::kEnd},
                                                  {"length", Stop::kLength},
                                                  {"content_filter", Stop::kRefused},
                                                  {"tool_calls", Stop::kEnd}};
  for (const auto& [reason, stop] : reasons) {
    const auto decoded =
        decode_events({R"({"choices":[{"delta":{"content":"a"},"finish_reason":")" + reason + R"("}]})", "[DONE]"});
    ASSERT_TRUE(decoded.answer) << reason;
    EXPECT_EQ(decoded.answer->stop, stop) << reason;
  }
  const auto refusal = decode_events({R"({"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(refusal.answer);
  EXPECT_EQ(refusal.answer->stop, Stop::kRefused);
  EXPECT_EQ(refusal.answer->text, "No.");
}

TEST(OpenAiDecoder, GivesNoHalfCalls) {
  const auto decoded = decode_events(
      {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":""}}]}}]})",
       R"({"choices":[{"delta":{},"finish_reason":"length"}]})"});
  ASSERT_TRUE(decoded.answer);
  EXPECT_EQ(decoded.answer->stop, Stop::kLength);
  EXPECT_TRUE(decoded.answer->calls.empty());
}

TEST(OpenAiDecoder, TakesAnAnswerThatIsNotStreamed) {
  const auto decoded = decode(config::Provider::kOpenAi, R"({"object":"chat.completion","choices":[{"index":0,
    "message":{"role":"assistant","content":"Hi","tool_calls":[
      {"id":"x","type":"function","function":{"name":"a","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
    "usage":{"prompt_tokens":3,"completion_tokens":4}})",
                              7, "application/json");
  ASSERT_TRUE(decoded.answer) << decoded.answer.error().message;
  EXPECT_EQ(*decoded.answer, (Completion{.text = "Hi",
                                         .calls = {{.id = "x", .name = "a"}},
                                         .usage = {.input = 3, .output = 4},
                                         .stop = Stop::kTools}));
  EXPECT_EQ(decoded.text, "Hi");
}

TEST(OpenAiDecoder, ReadsOverOtherChoicesAndEventsOfTheServersOwn) {
  const auto decoded = decode_events({R"({"type":"ping"})", R"({"choices":[],"prompt_filter_results":[]})",
                                      R"({"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]})",
                                      R"({"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]})"});
  ASSERT_TRUE(decoded.answer);
  EXPECT_EQ(decoded.answer->text, "a");
  EXPECT_EQ(decoded.answer->stop, Stop::kEnd);
}

struct Fault {
  std::string data;
  std::string message;
  Code code = Code::kUnavailable;
};

TEST(OpenAiDecoder, SaysWhatIsWrong) {
  const Fault faults[] = {
      {R"({"choices":{}})", "the answer is malformed: `choices` is no list"},
      {R"({"choices":[1]})", "the answer is malformed: a choice is no object"},
      {R"({"choices":[{"delta":1}]})", "the answer is malformed: `delta` is no object"},
      {R"({"choices":[{"delta":{"content":1}}]})", "the answer is malformed: `content` is no text"},
      {R"({"choices":[{"finish_reason":1}]})", "the answer is malformed: `finish_reason` is no text"},
      {R"({"choices":[{"delta":{"tool_calls":1}}]})", "the answer is malformed: `tool_calls` is no list"},
      {R"({"choices":[{"delta":{"tool_calls":[1]}}]})", "the answer is malformed: a tool call is no object"},
      {R"({"choices":[{"delta":{"tool_calls":[{}]},"finish_reason":"stop"}]})",
       "the answer has a tool call without a name"},
      {R"({"choices":[{"delta":{"content":""},"finish_reason":"stop"}]})", "the answer is empty"},
      {"[DONE]", "the answer was cut: it does not say why it ends"},
      {R"({"error":{"message":"busy","type":"server_error"}})", "it broke off: busy"},
      {R"({"error":"slow down","code":429})", "it broke off: slow down"},
      {R"({"error":{"message":"too long","code":400}})", "it refuses the request: too long", Code::kConfig},
      {R"({"object":"error","message":"no","type":"BadRequestError"})", "it refuses the request: no", Code::kConfig}};
  for (const auto& fault : faults) {
    const auto decoded = decode_events({fault.data});
    ASSERT_FALSE(decoded.answer) << fault.data;
    EXPECT_EQ(decoded.answer.error().message, fault.message);
    EXPECT_EQ(decoded.answer.error().code, fault.code) << fault.data;
  }
}

TEST(OpenAiDecoder, RefusesWhatComesAfterTheReason) {
  const auto* end = R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]})";
  EXPECT_TRUE(decode_events({end, R"({"choices":[{"delta":{"content":"","tool_calls":[]}}]})"}).answer);
  EXPECT_FALSE(decode_events({end, R"({"choices":[{"delta":{"content":"b"}}]})"}).answer);
  EXPECT_FALSE(decode_events({end, R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})"}).answer);
}

TEST(OpenAiDecoder, BoundsTheCallsOfAnAnswer) {
  std::string stream;
  for (int i = 0; i < 129; ++i) {
    stream += events({R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"a"}}]}}]})"});
  }
  const auto decoded = decode(config::Provider::kOpenAi, stream);
  ASSERT_FALSE(decoded.answer);
  EXPECT_EQ(decoded.answer.error().message, "the answer has more than 128 tool calls");
}

}  // namespace
}  // namespace agentd::llm
