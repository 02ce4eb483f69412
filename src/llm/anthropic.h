// The dialect of Anthropic's messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "config/agent.h"
#include "http/client.h"
#include "llm/assembly.h"
#include "llm/decoder.h"
#include "llm/model.h"

namespace agentd::llm {

// URL, headers and body. The endpoint is complete: its url, model and key are those to use. Roles alternate, as the API demands:
// messages of one side that follow each other are one, and a tool's results are the user's.
[[nodiscard]] http::OutboundRequest anthropic_request(const ChatRequest& request, const config::Model& model,
                                                      const config::Endpoint& endpoint);

// message_start, then blocks one after the other (content_block_start, _delta…, _stop), message_delta, message_stop. Blocks of thinking, and
// events of types that are not known, are read over.
class AnthropicDecoder final : public Decoder {
 public:
  explicit AnthropicDecoder(std::size_t prompt_bytes) : prompt_bytes_(prompt_bytes) {}

  [[nodiscard]] Status take(std::string_view data, std::string& text) override;
  [[nodiscard]] bool over() const override { return state_ == State::kOver; }
  [[nodiscard]] Result<Completion> finish() override;

 private:
  enum class State : std::uint8_t { kBefore, kBetween, kText, kCall, kOther, kOver };

  [[nodiscard]] Status take_event(const Json& event, std::string& text);
  [[nodiscard]] Status take_whole(const Json& message, std::string& text);
  [[nodiscard]] Status begin_block(const Json& event, std::string& text);
  [[nodiscard]] Status take_delta(const Json& event, std::string& text);
  [[nodiscard]] Status end_block(const Json& event);
  [[nodiscard]] Status add_text(std::string_view piece, std::string& text);
  void take_usage(const Json& usage);
  [[nodiscard]] bool in_block() const { return state_ >= State::kText && state_ <= State::kOther; }

  std::size_t prompt_bytes_;
  Assembly answer_;
  Usage usage_;
  State state_ = State::kBefore;
  std::int64_t block_ = 0;  // index of the one that is open
  std::string reason_;      // "" until the stream says why the answer ends
};

}  // namespace agentd::llm
