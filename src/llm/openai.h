// The dialect of OpenAI's chat completions, and of the servers that speak it: Ollama, llama.cpp, vLLM, LM Studio, gateways. Pure.
//
// What the servers do differently is taken as it is meant: no count of tokens, calls without index or id or in one piece, "stop" after calls,
// texts of reasoning (read over), a missing [DONE].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "config/agent.h"
#include "http/client.h"
#include "llm/assembly.h"
#include "llm/decoder.h"
#include "llm/model.h"

namespace agentd::llm {

// URL, headers and body. The endpoint is complete: its url, model and key are those to use.
[[nodiscard]] http::OutboundRequest openai_request(const ChatRequest& request, const config::Model& model,
                                                   const config::Endpoint& endpoint);

class OpenAiDecoder final : public Decoder {
 public:
  explicit OpenAiDecoder(std::size_t prompt_bytes) : prompt_bytes_(prompt_bytes) {}

  [[nodiscard]] Status take(std::string_view data, std::string& text) override;
  [[nodiscard]] bool over() const override { return over_; }
  [[nodiscard]] Result<Completion> finish() override;

 private:
  [[nodiscard]] Status take_choice(const Json& choice, std::string& text);
  [[nodiscard]] Status take_message(const Json& message, std::string& text);
  [[nodiscard]] Status take_calls(const Json& calls);
  void take_usage(const Json& usage);

  std::size_t prompt_bytes_;
  Assembly answer_;
  Usage usage_;
  std::string reason_;  // "" until the stream says why the answer ends
  bool refused_ = false;
  bool over_ = false;
};

}  // namespace agentd::llm
