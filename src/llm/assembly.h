// Assembly: an answer, put together from the fragments of its stream, and bounded. Shared by the dialects. No I/O.
//
// Arguments of a call are JSON text that comes in pieces. A piece belongs to the latest call of its index or, when the server numbers
// none, to the latest call; another id begins another call, since some servers give all calls of an answer the index 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/model.h"

namespace agentd::llm {

struct CallPiece {
  std::optional<std::int64_t> index;
  std::string_view id, name, arguments;  // "" for what this piece does not say
};

class Assembly final {
 public:
  static constexpr std::size_t kMostBytes = 2U << 20U;  // of text, names, ids and arguments
  static constexpr std::size_t kMostCalls = 128;

  // Errors: kUnavailable, past a bound.
  [[nodiscard]] Status add_text(std::string_view piece);
  [[nodiscard]] Status add_call(const CallPiece& piece);

  // Once. A usage of 0 is estimated: not every server counts. Errors: kUnavailable, for an answer with nothing in it, or a call
  // without a name.
  [[nodiscard]] Result<Completion> finish(Completion::Stop stop, Usage usage, std::size_t prompt_bytes);

 private:
  struct Call {
    std::optional<std::int64_t> index;
    std::string id, name, arguments;
  };

  [[nodiscard]] Status account(std::size_t bytes);
  [[nodiscard]] Call* call_of(const CallPiece& piece);  // null: the piece begins one
  [[nodiscard]] Result<std::vector<ToolCall>> take_calls();

  std::size_t bytes_ = 0;
  std::string text_;
  std::vector<Call> calls_;
};

}  // namespace agentd::llm
