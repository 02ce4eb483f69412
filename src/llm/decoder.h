// Decoder: the events of a provider's stream in, the text as it comes and at last the whole answer out. No I/O.
//
// Errors: kUnavailable, another attempt may do better (cut, malformed, out of order, overload); kConfig, it will not. Their messages may
// hold the provider's own words, at any length and with whatever it echoes. A decoder that gave an error is not used on.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/model.h"

namespace agentd::llm {

class Decoder {
 public:
  virtual ~Decoder() = default;

  // The data of one event, or the whole body of an answer that is not streamed. Appends what it says to `text`.
  [[nodiscard]] virtual Status take(std::string_view data, std::string& text) = 0;
  // Whether the stream has said that nothing more comes.
  [[nodiscard]] virtual bool over() const = 0;
  // Once: when over(), or when the body has ended as its framing says. An error when the answer is not whole.
  [[nodiscard]] virtual Result<Completion> finish() = 0;
};

}  // namespace agentd::llm
