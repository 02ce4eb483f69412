// The same body, whole and byte by byte, must say the same; an answer must be one that a turn can go on with. The first byte says which
// dialect it is, and whether it is streamed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "llm/answer_reader.h"

namespace {

using agentd::llm::AnswerReader;
using agentd::llm::Completion;

struct Read {
  std::string text;
  bool over = false;
  std::optional<agentd::Error> error;
  Completion answer;
};

Read read_in_pieces(std::uint8_t kind, std::string_view bytes, std::size_t size) {
  AnswerReader reader((kind & 1U) == 0 ? agentd::config::Provider::kOpenAi : agentd::config::Provider::kAnthropic,
                      (kind & 2U) == 0 ? "text/event-stream" : "application/json", 100);
  Read read;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size()))) {
    if (auto taken = reader.read(bytes.substr(0, size), read.text); !taken) {
      read.error = taken.error();
      return read;
    }
  }
  read.over = reader.over();
  if (auto answer = reader.finish(read.text)) {
    read.answer = *std::move(answer);
  } else {
    read.error = answer.error();
  }
  return read;
}

void check_answer(const Read& read) {
  using Stop = Completion::Stop;
  const auto& answer = read.answer;
  AGENTD_CHECK(answer.text == read.text, "the pieces are not the text");
  AGENTD_CHECK(answer.stop != Stop::kEnd || (!answer.text.empty() && answer.calls.empty()), "an end that is none");
  AGENTD_CHECK((answer.stop == Stop::kTools) == !answer.calls.empty(), "calls that nobody waits for");
  for (std::size_t i = 0; i < answer.calls.size(); ++i) {
    const auto& call = answer.calls[i];
    AGENTD_CHECK(!call.id.empty() && !call.name.empty(), "a call without id or name");
    AGENTD_CHECK(call.arguments.is_object() || call.arguments.is_string(), "arguments of another type");
    for (std::size_t j = 0; j < i; ++j) AGENTD_CHECK(answer.calls[j].id != call.id, "an id of two calls");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = read_in_pieces(data[0], bytes, std::max<std::size_t>(bytes.size(), 1));
  const auto single = read_in_pieces(data[0], bytes, 1);
  AGENTD_CHECK(whole.text == single.text && whole.over == single.over, "the text depends on how the bytes are cut");
  AGENTD_CHECK(whole.error.has_value() == single.error.has_value(), "a fault depends on how the bytes are cut");
  if (whole.error) {
    AGENTD_CHECK(whole.error->message == single.error->message, "which fault depends on how the bytes are cut");
    return 0;
  }
  AGENTD_CHECK(whole.answer.usage == single.answer.usage && whole.answer.stop == single.answer.stop &&
                   whole.answer.calls.size() == single.answer.calls.size(),
               "the answer depends on how the bytes are cut");
  check_answer(whole);
  return 0;
}
