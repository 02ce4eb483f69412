#include "llm/openai.h"

#include <fmt/format.h>

#include <utility>

#include "llm/failure.h"
#include "llm/fields.h"

namespace agentd::llm {
namespace {

using Role = ChatMessage::Role;

Json call_json(const ToolCall& call) {
  const std::string arguments =
      call.arguments.is_string() ? call.arguments.get<std::string>() : dump_json(call.arguments);
  return {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", arguments}}}};
}

Json message_json(const ChatMessage& message) {
  switch (message.role) {
    case Role::kUser: return {{"role", "user"}, {"content", message.text}};
    case Role::kTool:
      // The dialect has no mark for it.
      return {{"role", "tool"},
              {"tool_call_id", message.call_id},
              {"content", message.is_error ? "Error: " + message.text : message.text}};
    case Role::kAssistant: break;
  }
  Json json = {{"role", "assistant"}, {"content", message.text}};
  if (message.calls.empty()) return json;
  if (message.text.empty()) json["content"] = nullptr;
  for (const auto& call : message.calls) json["tool_calls"].push_back(call_json(call));
  return json;
}

Json messages_json(const ChatRequest& request) {
  Json messages = Json::array();
  if (!request.instructions.empty()) messages.push_back({{"role", "system"}, {"content", request.instructions}});
  for (const auto& message : request.messages) {
    // The chat templates of some local models refuse two messages of a user in a row.
    if (message.role == Role::kUser && !messages.empty() && messages.back()["role"] == "user") {
      messages.back()["content"].get_ref<std::string&>() += "\n\n" + message.text;
    } else {
      messages.push_back(message_json(message));
    }
  }
  return messages;
}

Json body_json(const ChatRequest& request, const config::Model& model, const config::Endpoint& endpoint) {
  Json body = {{"model", endpoint.model},
               {"messages", messages_json(request)},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}}};
  // OpenAI's newer models refuse the old name, most other servers do not know the new one.
  const bool of_openai = endpoint.url.starts_with("https://api.openai.com/");
  body[of_openai ? "max_completion_tokens" : "max_tokens"] = model.max_tokens;
  if (model.temperature) body["temperature"] = *model.temperature;
  for (const auto& tool : request.tools) {
    body["tools"].push_back(
        {{"type", "function"},
         {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.schema}}}});
  }
  return body;
}

Error malformed(std::string_view what) {
  return {.code = Code::kUnavailable, .message = fmt::format("the answer is malformed: {}", what)};
}

// Or not there.
bool text_or_none(const Json& value) { return value.is_string() || value.is_null(); }

}  // namespace

http::OutboundRequest openai_request(const ChatRequest& request, const config::Model& model,
                                     const config::Endpoint& endpoint) {
  http::OutboundRequest outbound{
      .url = fmt::format("{}{}chat/completions", endpoint.url, endpoint.url.ends_with('/') ? "" : "/"),
      .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
      .body = dump_json(body_json(request, model, endpoint))};
  if (endpoint.api_key) outbound.headers.emplace_back("Authorization", "Bearer " + endpoint.api_key->value);
  return outbound;
}

Status OpenAiDecoder::take(std::string_view data, std::string& text) {
  if (over_) return {};
  if (data == "[DONE]") {
    over_ = true;
    return {};
  }
  const auto document = parse_json(data);
  if (!document) return std::unexpected(malformed(document.error().message));
  if (!document->is_object()) return std::unexpected(malformed("an event is no JSON object"));
  if (!field(*document, "error").is_null() || text_field(*document, "object") == "error") {
    return std::unexpected(failure_of_document(*document));
  }
  take_usage(field(*document, "usage"));
  const Json& choices = field(*document, "choices");
  if (choices.is_null()) return {};  // an event of the server's own
  if (!choices.is_array()) return std::unexpected(malformed("`choices` is no list"));
  for (const Json& choice : choices) {
    if (auto taken = take_choice(choice, text); !taken) return taken;
  }
  return {};
}

Status OpenAiDecoder::take_choice(const Json& choice, std::string& text) {
  if (!choice.is_object()) return std::unexpected(malformed("a choice is no object"));
  if (count_field(choice, "index") != 0) return {};  // one was asked for
  // An answer that is not streamed has the whole of it in `message`.
  const Json& delta = field(choice, "delta");
  if (auto taken = take_message(delta.is_null() ? field(choice, "message") : delta, text); !taken) return taken;
  const Json& reason = field(choice, "finish_reason");
  if (!text_or_none(reason)) return std::unexpected(malformed("`finish_reason` is no text"));
  if (reason.is_string()) reason_ = reason;
  return {};
}

Status OpenAiDecoder::take_message(const Json& message, std::string& text) {
  if (message.is_null()) return {};
  if (!message.is_object()) return std::unexpected(malformed("`delta` is no object"));
  const bool ended = !reason_.empty();
  for (const char* key : {"content", "refusal"}) {
    if (!text_or_none(field(message, key))) return std::unexpected(malformed(fmt::format("`{}` is no text", key)));
    const std::string_view piece = text_field(message, key);
    if (piece.empty()) continue;
    if (ended) return std::unexpected(malformed("text after its end"));
    refused_ = refused_ || std::string_view(key) == "refusal";
    text += piece;
    if (auto fits = answer_.add_text(piece); !fits) return fits;
  }
  const Json& calls = field(message, "tool_calls");
  if (calls.is_null() || (calls.is_array() && calls.empty())) return {};
  if (ended) return std::unexpected(malformed("a tool call after its end"));
  return take_calls(calls);
}

Status OpenAiDecoder::take_calls(const Json& calls) {
  if (!calls.is_array()) return std::unexpected(malformed("`tool_calls` is no list"));
  for (const Json& call : calls) {
    const Json& function = field(call, "function");
    const Json& index = field(call, "index");
    const Json& arguments = field(function, "arguments");
    if (!call.is_object()) return std::unexpected(malformed("a tool call is no object"));
    const std::string whole = arguments.is_object() ? dump_json(arguments) : std::string();
    const CallPiece piece{
        .index = index.is_number_integer() ? std::optional(index.get<std::int64_t>()) : std::nullopt,
        .id = text_field(call, "id"),
        .name = text_field(function, "name"),
        .arguments = arguments.is_object() ? std::string_view(whole) : text_field(function, "arguments")};
    if (auto fits = answer_.add_call(piece); !fits) return fits;
  }
  return {};
}

void OpenAiDecoder::take_usage(const Json& usage) {
  if (!usage.is_object()) return;
  usage_ = {.input = count_field(usage, "prompt_tokens"), .output = count_field(usage, "completion_tokens")};
}

Result<Completion> OpenAiDecoder::finish() {
  using Stop = Completion::Stop;
  if (reason_.empty()) return fail(Code::kUnavailable, "the answer was cut: it does not say why it ends");
  const bool refused = refused_ || reason_ == "content_filter";
  const Stop stop = refused ? Stop::kRefused : reason_ == "length" ? Stop::kLength : Stop::kEnd;
  return answer_.finish(stop, usage_, prompt_bytes_);
}

}  // namespace agentd::llm
