#include "llm/openai.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "llm/failure.h"
#include "llm/fields.h"

namespace agentd::llm {
namespace {

using Role = ChatMessage::Role;

void append_call(std::string& out, const ToolCall& call) {
  ObjectWriter writer(out);
  writer.text("id", call.id).text("type", "function").key("function");
  ObjectWriter function(out);
  function.text("name", call.name)
      .text("arguments",
            call.arguments.is_string() ? call.arguments.get_ref<const std::string&>() : dump_json(call.arguments));
  function.close();
  writer.close();
}

void append_message(std::string& out, const ChatMessage& message) {
  ObjectWriter writer(out);
  if (message.role == Role::kTool) {
    // The dialect has no mark for an error.
    writer.text("role", "tool")
        .text("tool_call_id", message.call_id)
        .text("content", message.is_error ? "Error: " + message.text : message.text);
    return writer.close();
  }
  writer.text("role", "assistant");
  if (message.calls.empty()) {
    writer.text("content", message.text);
    return writer.close();
  }
  message.text.empty() ? writer.raw("content", "null") : writer.text("content", message.text);
  writer.key("tool_calls");
  ArrayWriter calls(out);
  for (const ToolCall& call : message.calls) {
    calls.next();
    append_call(out, call);
  }
  calls.close();
  writer.close();
}

void append_messages(std::string& out, const ChatRequest& request) {
  ArrayWriter list(out);
  const auto add = [&](std::string_view role, std::string_view content) {
    list.next();
    ObjectWriter message(out);
    message.text("role", role).text("content", content);
    message.close();
  };
  if (!request.instructions.empty()) add("system", request.instructions);
  for (auto next = request.messages.begin(); next != request.messages.end();) {
    if (next->role != Role::kUser) {
      list.next();
      append_message(out, *next++);
      continue;
    }
    // The chat templates of some local models refuse two messages of a user in a row.
    std::string said = (next++)->text;
    for (; next != request.messages.end() && next->role == Role::kUser; ++next) said += "\n\n" + next->text;
    add("user", said);
  }
  list.close();
}

void append_tools(std::string& out, const std::vector<ToolSpec>& tools) {
  ArrayWriter list(out);
  for (const ToolSpec& tool : tools) {
    list.next();
    ObjectWriter writer(out);
    writer.text("type", "function").key("function");
    ObjectWriter function(out);
    function.text("name", tool.name).text("description", tool.description).json("parameters", tool.schema);
    function.close();
    writer.close();
  }
  list.close();
}

// As text, without building it first: a conversation may be long, and this is on the thread that everybody waits for.
std::string body_of(const ChatRequest& request, const config::Model& model, const config::Endpoint& endpoint) {
  std::string out;
  ObjectWriter body(out);
  body.text("model", endpoint.model).key("messages");
  append_messages(out, request);
  body.flag("stream", true).raw("stream_options", R"({"include_usage":true})");
  // OpenAI's newer models refuse the old name, most other servers do not know the new one.
  const bool of_openai = endpoint.url.starts_with("https://api.openai.com/");
  body.count(of_openai ? "max_completion_tokens" : "max_tokens", model.max_tokens);
  if (model.temperature) body.json("temperature", *model.temperature);
  if (!request.tools.empty()) {
    body.key("tools");
    append_tools(out, request.tools);
  }
  body.close();
  return out;
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
      .body = body_of(request, model, endpoint)};
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
