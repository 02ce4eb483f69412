#include "llm/answer_reader.h"

#include <fmt/format.h>

#include "base/check.h"
#include "llm/anthropic.h"
#include "llm/openai.h"

namespace agentd::llm {
namespace {

constexpr std::size_t kMostBytes = 2U << 20U;

std::unique_ptr<Decoder> decoder_of(config::Provider provider, std::size_t prompt_bytes) {
  switch (provider) {
    case config::Provider::kOpenAi: return std::make_unique<OpenAiDecoder>(prompt_bytes);
    case config::Provider::kAnthropic: return std::make_unique<AnthropicDecoder>(prompt_bytes);
    case config::Provider::kScripted: break;
  }
  AGENTD_CHECK(false, "the scripted model has no dialect");
}

// Without parameters.
std::string_view media_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  return content_type.substr(0, content_type.find_last_not_of(' ') + 1);
}

}  // namespace

AnswerReader::AnswerReader(config::Provider provider, std::string_view content_type, std::size_t prompt_bytes)
    : decoder_(decoder_of(provider, prompt_bytes)),
      type_(media_type(content_type)),
      is_document_(type_ == "application/json"),
      events_(kMostBytes) {}

Status AnswerReader::read(std::string_view bytes, std::string& text) {
  if (over()) return {};
  if (is_document_) {
    document_ += bytes;
    if (document_.size() > kMostBytes) return fail(Code::kUnavailable, "the answer is longer than 2 MiB");
    return {};
  }
  if (!type_.empty() && type_ != "text/event-stream") {
    return fail(Code::kConfig,
                fmt::format("it answers with '{}', not with an event stream; see `endpoint` of agent.model", type_));
  }
  items_.clear();
  const auto read = events_.read(bytes, items_);
  // What is before the fault was said.
  for (const auto& item : items_) {
    if (item.type != http::SseItem::Type::kEvent) continue;
    if (auto taken = decoder_->take(item.data, text); !taken) return taken;
  }
  if (!read && !over()) return fail(Code::kUnavailable, "the answer is malformed: " + read.error().message);
  return {};
}

Result<Completion> AnswerReader::finish(std::string& text) {
  if (is_document_) {
    if (auto taken = decoder_->take(document_, text); !taken) return std::unexpected(std::move(taken).error());
  }
  return decoder_->finish();
}

}  // namespace agentd::llm
