// AnswerReader: the body of a provider's answer in, in pieces cut anywhere; text as it comes and at last the whole answer out. No I/O.
//
// Events of a stream, or, from a server that does not stream although it was asked to, one JSON document. Bounded: an event, a document and
// the answer at 2 MiB each. Errors as a Decoder's; none is read on after.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/agent.h"
#include "http/sse_reader.h"
#include "llm/decoder.h"
#include "llm/model.h"

namespace agentd::llm {

class AnswerReader final {
 public:
  // `content_type`: of the answer; "" is taken for a stream. `prompt_bytes`: of the request's body, for servers that do not count tokens.
  AnswerReader(config::Provider provider, std::string_view content_type, std::size_t prompt_bytes);

  // Appends what the bytes say to `text`.
  [[nodiscard]] Status read(std::string_view bytes, std::string& text);
  [[nodiscard]] bool over() const { return decoder_->over(); }
  // Once: when over(), or when the body has ended as its framing says, never after a cut. Appends to `text` what is known only now.
  [[nodiscard]] Result<Completion> finish(std::string& text);

 private:
  std::unique_ptr<Decoder> decoder_;
  std::string type_;
  bool is_document_;
  std::string document_;
  http::SseReader events_;
  std::vector<http::SseItem> items_;
};

}  // namespace agentd::llm
