#include "llm/anthropic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "llm/failure.h"
#include "llm/fields.h"

namespace agentd::llm {
namespace {

using Role = ChatMessage::Role;

// The API refuses a block of nothing but white space.
bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// Ids that another provider gave, in a conversation that began with it, may hold what this one refuses.
std::string id_of(std::string id) {
  std::ranges::replace_if(
      id,
      [](char c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        return !letter && !(c >= '0' && c <= '9') && c != '_' && c != '-';
      },
      '_');
  return id;
}

bool has_blocks(const ChatMessage& message) {
  return message.role == Role::kTool || !is_blank(message.text) || !message.calls.empty();
}

void append_blocks(std::string& out, ArrayWriter& blocks, const ChatMessage& message) {
  if (message.role == Role::kTool) {
    blocks.next();
    ObjectWriter result(out);
    result.text("type", "tool_result").text("tool_use_id", id_of(message.call_id)).text("content", message.text);
    if (message.is_error) result.flag("is_error", true);
    return result.close();
  }
  if (!is_blank(message.text)) {
    blocks.next();
    ObjectWriter text(out);
    text.text("type", "text").text("text", message.text);
    text.close();
  }
  for (const ToolCall& call : message.calls) {
    blocks.next();
    ObjectWriter use(out);
    use.text("type", "tool_use").text("id", id_of(call.id)).text("name", call.name);
    // It takes objects only; what was none comes back to the model as what it wrote.
    use.json("input", call.arguments.is_object() ? call.arguments : Json{{"malformed", call.arguments}});
    use.close();
  }
}

std::string_view role_of(const ChatMessage& message) { return message.role == Role::kAssistant ? "assistant" : "user"; }

// Those of one role in a row are one message.
void append_messages(std::string& out, const ChatRequest& request) {
  ArrayWriter list(out);
  for (auto next = request.messages.begin(); next != request.messages.end();) {
    if (!has_blocks(*next)) {
      ++next;
      continue;
    }
    list.next();
    ObjectWriter message(out);
    const std::string_view role = role_of(*next);
    message.text("role", role).key("content");
    ArrayWriter blocks(out);
    for (; next != request.messages.end() && (role_of(*next) == role || !has_blocks(*next)); ++next) {
      append_blocks(out, blocks, *next);
    }
    blocks.close();
    message.close();
  }
  list.close();
}

// As text, without building it first: a conversation may be long, and this is on the thread that everybody waits for.
std::string body_of(const ChatRequest& request, const config::Model& model, const config::Endpoint& endpoint) {
  std::string out;
  ObjectWriter body(out);
  body.text("model", endpoint.model).count("max_tokens", model.max_tokens).flag("stream", true);
  if (!is_blank(request.instructions)) body.text("system", request.instructions);
  if (model.temperature) body.json("temperature", *model.temperature);
  if (!request.tools.empty()) {
    body.key("tools");
    ArrayWriter tools(out);
    for (const ToolSpec& tool : request.tools) {
      tools.next();
      ObjectWriter writer(out);
      writer.text("name", tool.name).text("description", tool.description).json("input_schema", tool.schema);
      writer.close();
    }
    tools.close();
  }
  body.key("messages");
  append_messages(out, request);
  body.close();
  return out;
}

std::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::kUnavailable, fmt::format("the answer is malformed: {}", what));
}

// -1 for none, which is no block's.
std::int64_t index_of(const Json& event) {
  const Json& index = field(event, "index");
  return index.is_number_unsigned() ? index.get<std::int64_t>() : -1;
}

Completion::Stop stop_of(std::string_view reason) {
  using Stop = Completion::Stop;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return Stop::kLength;
  return reason == "refusal" ? Stop::kRefused : Stop::kEnd;
}

}  // namespace

http::OutboundRequest anthropic_request(const ChatRequest& request, const config::Model& model,
                                        const config::Endpoint& endpoint) {
  http::OutboundRequest outbound{
      .url = fmt::format("{}{}messages", endpoint.url, endpoint.url.ends_with('/') ? "" : "/"),
      .headers = {{"Content-Type", "application/json"},
                  {"Accept", "text/event-stream"},
                  {"anthropic-version", "2023-06-01"}},
      .body = body_of(request, model, endpoint)};
  if (endpoint.api_key) outbound.headers.emplace_back("x-api-key", endpoint.api_key->value);
  return outbound;
}

Status AnthropicDecoder::take(std::string_view data, std::string& text) {
  if (over()) return {};
  const auto event = parse_json(data);
  if (!event) return malformed(event.error().message);
  if (!event->is_object()) return malformed("an event is no JSON object");
  return take_event(*event, text);
}

Status AnthropicDecoder::take_event(const Json& event, std::string& text) {
  const std::string_view type = text_field(event, "type");
  if (type == "error" || !field(event, "error").is_null()) return std::unexpected(failure_of_document(event));
  if (type == "message") return take_whole(event, text);
  if (type == "message_start") {
    if (state_ != State::kBefore) return malformed("it begins twice");
    state_ = State::kBetween;
    take_usage(field(field(event, "message"), "usage"));
    return {};
  }
  const bool is_known = type.starts_with("content_block_") || type.starts_with("message_");
  if (is_known && state_ == State::kBefore) return malformed("it does not begin with message_start");
  if (type == "content_block_start") return begin_block(event, text);
  if (type == "content_block_delta") return take_delta(event, text);
  if (type == "content_block_stop") return end_block(event);
  if (type == "message_delta") {
    take_usage(field(event, "usage"));
    if (const auto reason = text_field(field(event, "delta"), "stop_reason"); !reason.empty()) reason_ = reason;
    return {};
  }
  if (type == "message_stop") {
    if (in_block()) return malformed("it ends within a block");
    if (reason_.empty()) return malformed("it does not say why it ends");
    state_ = State::kOver;
  }
  return {};
}

// An answer that is not streamed.
Status AnthropicDecoder::take_whole(const Json& message, std::string& text) {
  if (state_ != State::kBefore) return malformed("it begins twice");
  state_ = State::kBetween;
  std::size_t index = 0;
  for (const Json& block : field(message, "content")) {
    const Json event = {{"index", index++}, {"content_block", block}};
    if (auto begun = begin_block(event, text); !begun) return begun;
    if (auto ended = end_block(event); !ended) return ended;
  }
  take_usage(field(message, "usage"));
  reason_ = text_field(message, "stop_reason");
  if (reason_.empty()) return malformed("it does not say why it ends");
  state_ = State::kOver;
  return {};
}

Status AnthropicDecoder::begin_block(const Json& event, std::string& text) {
  if (in_block()) return malformed("a block begins within another");
  if (!reason_.empty()) return malformed("a block begins after its end");
  block_ = index_of(event);
  if (block_ < 0) return malformed("a block without an index");
  const Json& block = field(event, "content_block");
  const std::string_view type = text_field(block, "type");
  if (type == "text") {
    state_ = State::kText;
    return add_text(text_field(block, "text"), text);
  }
  if (type != "tool_use") {
    state_ = State::kOther;
    return {};
  }
  state_ = State::kCall;
  // {} when the fragments are to come, which is all that a stream of Anthropic's own has here.
  const Json& input = field(block, "input");
  return answer_.add_call({.index = block_,
                           .id = text_field(block, "id"),
                           .name = text_field(block, "name"),
                           .arguments = input.empty() ? std::string() : dump_json(input)});
}

Status AnthropicDecoder::take_delta(const Json& event, std::string& text) {
  if (!in_block() || index_of(event) != block_) return malformed("a piece of a block that is not open");
  const Json& delta = field(event, "delta");
  const std::string_view type = text_field(delta, "type");
  if (type == "text_delta") {
    if (state_ != State::kText) return malformed("text within a block that is none");
    return add_text(text_field(delta, "text"), text);
  }
  if (type == "input_json_delta" && state_ == State::kCall) {
    return answer_.add_call({.index = block_, .id = {}, .name = {}, .arguments = text_field(delta, "partial_json")});
  }
  return {};
}

Status AnthropicDecoder::end_block(const Json& event) {
  if (!in_block() || index_of(event) != block_) return malformed("the end of a block that is not open");
  state_ = State::kBetween;
  return {};
}

Status AnthropicDecoder::add_text(std::string_view piece, std::string& text) {
  text += piece;
  return answer_.add_text(piece);
}

// Of the start (the input) and of the end (the output, in all). What was read from or written to the provider's cache is input too.
void AnthropicDecoder::take_usage(const Json& usage) {
  const std::uint64_t input = count_field(usage, "input_tokens") + count_field(usage, "cache_creation_input_tokens") +
                              count_field(usage, "cache_read_input_tokens");
  usage_.input = std::max(usage_.input, input);
  usage_.output = std::max(usage_.output, count_field(usage, "output_tokens"));
}

Result<Completion> AnthropicDecoder::finish() {
  if (!over()) return fail(Code::kUnavailable, "the answer was cut: its stream ended before message_stop");
  return answer_.finish(stop_of(reason_), usage_, prompt_bytes_);
}

}  // namespace agentd::llm
