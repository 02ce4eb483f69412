#include "llm/assembly.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/ids.h"
#include "base/json.h"

namespace agentd::llm {
namespace {

constexpr std::size_t kMostQuoted = 1024;  // of arguments that are no object

// About what tokenizers make of English text: a bound for budgets, where the server does not count.
std::uint64_t estimated_tokens(std::size_t bytes) { return (bytes + 3) / 4; }

Json arguments_of(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();  // a tool without parameters
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? *std::move(parsed) : Json(cut_text(text, kMostQuoted));
}

}  // namespace

Status Assembly::account(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > kMostBytes) return fail(Code::kUnavailable, "the answer is longer than 2 MiB");
  return {};
}

Status Assembly::add_text(std::string_view piece) {
  if (auto fits = account(piece.size()); !fits) return fits;
  text_ += piece;
  return {};
}

Assembly::Call* Assembly::call_of(const CallPiece& piece) {
  const auto latest = std::ranges::find_if(
      std::views::reverse(calls_), [&piece](const Call& call) { return !piece.index || call.index == piece.index; });
  if (latest == calls_.rend()) return nullptr;
  if (!piece.id.empty()) return latest->id.empty() || latest->id == piece.id ? &*latest : nullptr;
  return piece.index || piece.name.empty() ? &*latest : nullptr;
}

Status Assembly::add_call(const CallPiece& piece) {
  if (auto fits = account(piece.id.size() + piece.name.size() + piece.arguments.size()); !fits) return fits;
  Call* call = call_of(piece);
  if (call == nullptr) {
    if (calls_.size() == kMostCalls) return fail(Code::kUnavailable, "the answer has more than 128 tool calls");
    call = &calls_.emplace_back(Call{.index = piece.index, .id = {}, .name = {}, .arguments = {}});
  }
  // Said once; a server that repeats them with every piece changes nothing.
  if (call->id.empty()) call->id = piece.id;
  if (call->name.empty()) call->name = piece.name;
  call->arguments += piece.arguments;
  return {};
}

Result<std::vector<ToolCall>> Assembly::take_calls() {
  std::vector<ToolCall> calls;
  for (auto& call : calls_) {
    if (call.name.empty()) return fail(Code::kUnavailable, "the answer has a tool call without a name");
    // Results are told apart by it.
    const bool taken = std::ranges::find(calls, call.id, &ToolCall::id) != calls.end();
    if (call.id.empty() || taken) call.id = "call_" + random_hex(16);
    calls.push_back(
        {.id = std::move(call.id), .name = std::move(call.name), .arguments = arguments_of(call.arguments)});
  }
  return calls;
}

Result<Completion> Assembly::finish(Completion::Stop stop, Usage usage, std::size_t prompt_bytes) {
  using Stop = Completion::Stop;
  if (usage.input == 0) usage.input = estimated_tokens(prompt_bytes);
  if (usage.output == 0) usage.output = estimated_tokens(bytes_);
  if (stop == Stop::kLength || stop == Stop::kRefused) {
    return Completion{.text = std::move(text_), .calls = {}, .usage = usage, .stop = stop};
  }
  auto calls = take_calls();
  if (!calls) return std::unexpected(std::move(calls).error());
  if (text_.empty() && calls->empty()) return fail(Code::kUnavailable, "the answer is empty");
  // Some servers end an answer that has calls with "stop".
  stop = calls->empty() ? Stop::kEnd : Stop::kTools;
  return Completion{.text = std::move(text_), .calls = *std::move(calls), .usage = usage, .stop = stop};
}

}  // namespace agentd::llm
