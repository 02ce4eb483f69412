// Streams in the shape of the providers' public documentation, and what a reader makes of one. For tests.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "llm/answer_reader.h"

namespace agentd::llm {

// "data: …" of each.
inline std::string events(std::initializer_list<std::string_view> data) {
  std::string all;
  for (const auto piece : data) all.append("data: ").append(piece).append("\n\n");
  return all;
}

inline std::string openai_stream() {
  return events(
      {R"({"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null})",
       R"({"choices":[{"index":0,"delta":{"content":"Let me "},"finish_reason":null}],"usage":null})",
       R"({"choices":[{"index":0,"delta":{"content":"look \u00e9."},"finish_reason":null}],"usage":null})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":null}]})",
       R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":null}]})",
       R"({"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null})",
       R"({"choices":[],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99}})", "[DONE]"});
}

inline std::string anthropic_stream() {
  const std::pair<std::string_view, std::string_view> all[] = {
      {"message_start",
       R"({"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":72,"cache_read_input_tokens":10,"output_tokens":2}}})"},
      {"content_block_start",
       R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ="}})"},
      {"content_block_stop", R"({"type":"content_block_stop","index":0})"},
      {"content_block_start", R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})"},
      {"ping", R"({"type":"ping"})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look é."}})"},
      {"content_block_stop", R"({"type":"content_block_stop","index":1})"},
      {"content_block_start",
       R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"weather","input":{}}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}})"},
      {"content_block_delta",
       R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}})"},
      {"content_block_stop", R"({"type":"content_block_stop","index":2})"},
      {"content_block_start",
       R"({"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"call_2","name":"now","input":{}}})"},
      {"content_block_stop", R"({"type":"content_block_stop","index":3})"},
      {"message_delta",
       R"({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":17}})"},
      {"message_stop", R"({"type":"message_stop"})"}};
  std::string stream;
  for (const auto& [event, data] : all) {
    stream.append("event: ").append(event).append("\ndata: ").append(data).append("\n\n");
  }
  return stream;
}

// What both of them say.
inline Completion recorded_completion() {
  return {.text = "Let me look é.",
          .calls = {{.id = "call_1", .name = "weather", .arguments = {{"city", "Oslo"}}},
                    {.id = "call_2", .name = "now", .arguments = Json::object()}},
          .usage = {.input = 82, .output = 17},
          .stop = Completion::Stop::kTools};
}

struct Decoded {
  std::string text;
  bool over = false;
  Result<Completion> answer;  // after a clean end
};

// `step`: bytes of a piece; 0 = all at once.
inline Decoded decode(config::Provider provider, std::string_view bytes, std::size_t step = 0,
                      std::string_view content_type = "text/event-stream; charset=utf-8") {
  AnswerReader reader(provider, content_type, 400);
  Decoded decoded{.text = {}, .over = false, .answer = Completion()};
  step = step == 0 ? std::max<std::size_t>(bytes.size(), 1) : step;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    if (auto read = reader.read(bytes.substr(0, step), decoded.text); !read) {
      decoded.answer = std::unexpected(read.error());
      return decoded;
    }
  }
  decoded.over = reader.over();
  decoded.answer = reader.finish(decoded.text);
  return decoded;
}

}  // namespace agentd::llm
