#include "runtime/transcript.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "base/ids.h"
#include "runtime/gate.h"
#include "runtime/message_text.h"

namespace agentd::runtime {
namespace {

using llm::ChatMessage;

constexpr std::string_view kSummaryKey = "https://agentd.dev/a2a/summary";
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kShort = 400;  // bytes that stay of a result that is cut
constexpr std::uint64_t kBytesPerToken = 4;
constexpr std::uint64_t kTokensPerMessage = 8;

std::uint64_t estimate(const ChatMessage& message) {
  std::size_t bytes = message.text.size();
  for (const llm::ToolCall& call : message.calls) bytes += call.name.size() + dump_json(call.arguments).size();
  return bytes / kBytesPerToken + kTokensPerMessage;
}

// Of the first data part with that key, or null.
const Json* data_of(const Json& part, const char* key) {
  const auto data = part.find("data");
  if (data == part.end() || !data->is_object()) return nullptr;
  const auto at = data->find(key);
  return at == data->end() ? nullptr : &*at;
}

Json row(const std::string& context, const std::string& task, Json parts) {
  Json out = {{"messageId", random_uuid()}, {"contextId", context}};
  if (!task.empty()) out["taskId"] = task;
  out["role"] = "ROLE_AGENT";
  out["parts"] = std::move(parts);
  return out;
}

}  // namespace

void Transcript::add(std::uint64_t number, const Json& message) {
  const bool is_user = message["role"] == "ROLE_USER";
  if (auto summary = summary_in(message)) {
    summarised_ = message["metadata"][kSummaryKey]["until"];
    summary_ = *std::move(summary);
    return;
  }
  Row row{.number = number, .task = message.value("taskId", ""), .message = {}};
  if (is_user) {
    if (message.value("metadata", Json::object()).contains(kGateKey)) return;  // an answer: the call's result tells it
    row.message.text = chat_text_of(message);
    rows_.push_back(std::move(row));
    return;
  }
  row.kind = Kind::kAgent;
  row.message.role = ChatMessage::Role::kAssistant;
  for (const Json& part : message["parts"]) {
    if (const Json* call = data_of(part, "toolCall")) {
      row.message.calls.push_back(
          {.id = (*call)["id"], .name = (*call)["name"], .arguments = call->value("arguments", Json::object())});
    } else if (const Json* result = data_of(part, "toolResult")) {
      row.kind = Kind::kResult;
      row.message = {.role = ChatMessage::Role::kTool,
                     .text = (*result)["text"],
                     .call_id = (*result)["id"],
                     .is_error = result->value("isError", false)};
    }
  }
  if (row.kind == Kind::kAgent) {
    row.message.text = row.message.calls.empty() ? chat_text_of(message) : text_of(message);
  }
  rows_.push_back(std::move(row));
}

std::size_t Transcript::result_of(std::size_t at, const std::string& call, const std::vector<bool>& used) const {
  for (std::size_t i = at + 1; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.kind == Kind::kResult && !used[i] && row.task == rows_[at].task && row.message.call_id == call) return i;
  }
  return kNone;
}

void Transcript::add_agent(std::vector<ChatMessage>& out, std::size_t at, std::vector<bool>& used) const {
  const Row& row = rows_[at];
  std::vector<ChatMessage> results;
  for (const llm::ToolCall& call : row.message.calls) {
    const std::size_t found = result_of(at, call.id, used);
    if (found != kNone) {
      used[found] = true;
      results.push_back(rows_[found].message);
    } else if (row.task == task_) {
      results.push_back(
          {.role = ChatMessage::Role::kTool, .text = std::string(kInterrupted), .call_id = call.id, .is_error = true});
    } else {
      if (!row.message.text.empty()) out.push_back({.role = ChatMessage::Role::kAssistant, .text = row.message.text});
      return;
    }
  }
  if (row.message.text.empty() && row.message.calls.empty()) return;
  out.push_back(row.message);
  std::ranges::move(results, std::back_inserter(out));
}

std::vector<ChatMessage> Transcript::between(std::uint64_t after, std::uint64_t until) const {
  std::vector<ChatMessage> out;
  std::vector<bool> used(rows_.size(), false);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (row.number <= after || row.number > until) continue;
    if (row.kind == Kind::kUser) out.push_back(row.message);
    if (row.kind == Kind::kAgent) add_agent(out, i, used);
  }
  return out;
}

std::vector<ChatMessage> Transcript::messages() const {
  std::vector<ChatMessage> out = between(summarised_, kAll);
  if (!summary_.empty()) {
    out.insert(out.begin(), {.text = "What was said before, in short:\n" + summary_});
  }
  return out;
}

std::vector<llm::ToolCall> Transcript::pending() const {
  for (std::size_t i = rows_.size(); i-- > 0;) {
    const Row& row = rows_[i];
    if (row.task != task_ || row.kind != Kind::kAgent) continue;
    std::vector<llm::ToolCall> out;
    std::vector<bool> used(rows_.size(), false);
    for (const llm::ToolCall& call : row.message.calls) {
      const std::size_t found = result_of(i, call.id, used);
      if (found == kNone) {
        out.push_back(call);
      } else {
        used[found] = true;
      }
    }
    return out;
  }
  return {};
}

bool Transcript::is_answered() const {
  for (const Row& row : rows_ | std::views::reverse) {
    if (row.task == task_) return row.kind == Kind::kAgent && row.message.calls.empty();
  }
  return false;
}

std::uint64_t Transcript::tokens_of(const std::vector<ChatMessage>& messages) {
  std::uint64_t sum = 0;
  for (const ChatMessage& message : messages) sum += estimate(message);
  return sum;
}

std::uint64_t Transcript::tokens_of(std::string_view text) { return text.size() / kBytesPerToken; }

void Transcript::shorten(std::vector<ChatMessage>& messages, std::uint64_t tokens, std::size_t newest) {
  std::uint64_t sum = tokens_of(messages);
  const std::size_t end = messages.size() - std::min(messages.size(), newest);
  const auto cut = [&](bool results, std::size_t bytes) {
    for (std::size_t i = 0; i < end && sum > tokens; ++i) {
      ChatMessage& message = messages[i];
      if ((message.role == ChatMessage::Role::kTool) != results || message.text.size() <= bytes) continue;
      sum -= estimate(message);
      message.text = cut_text(message.text, bytes);
      sum += estimate(message);
    }
  };
  cut(true, kShort);
  cut(false, std::max<std::uint64_t>(kShort, tokens * kBytesPerToken / 2 / std::max<std::size_t>(messages.size(), 1)));
  // A turn's calls and results leave together.
  std::size_t gone = 0;
  for (std::size_t next = 1; next < end && sum > tokens; ++next) {
    if (messages[next].role != ChatMessage::Role::kUser) continue;
    for (; gone < next; ++gone) sum -= estimate(messages[gone]);
  }
  messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(gone));
}

std::uint64_t Transcript::oldest_to_keep(std::uint64_t tokens) const {
  std::uint64_t sum = 0;
  for (std::size_t i = rows_.size(); i-- > 0;) {
    if (rows_[i].number <= summarised_) return 0;
    sum += estimate(rows_[i].message);
    if (sum <= tokens) continue;
    // A turn begins with what a person said: up to the row before the next beginning.
    for (std::size_t j = i + 1; j < rows_.size(); ++j) {
      if (rows_[j].kind == Kind::kUser) return rows_[j].number - 1;
    }
    return 0;
  }
  return 0;
}

std::vector<ChatMessage> Transcript::messages_until(std::uint64_t number) const {
  std::vector<ChatMessage> out = between(summarised_, number);
  if (!summary_.empty()) out.insert(out.begin(), {.text = "What was said before, in short:\n" + summary_});
  return out;
}

std::optional<std::string> summary_in(const Json& message) {
  const bool is_one = message["role"] == "ROLE_AGENT" && message.value("metadata", Json()).contains(kSummaryKey);
  return is_one ? std::optional(text_of(message)) : std::nullopt;
}

Json agent_row(const std::string& context, const std::string& task, const std::string& text,
               const std::vector<llm::ToolCall>& calls) {
  Json parts = Json::array();
  if (!text.empty()) parts.push_back({{"text", text}});
  for (const llm::ToolCall& call : calls) {
    parts.push_back({{"data", {{"toolCall", {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}}}}}});
  }
  return row(context, task, std::move(parts));
}

Json result_row(const std::string& context, const std::string& task, const ToolResultRow& result) {
  Json data = {{"id", result.call.id}, {"name", result.call.name}, {"text", result.text}};
  if (result.is_error) data["isError"] = true;
  return row(context, task, Json::array({Json{{"data", {{"toolResult", std::move(data)}}}}}));
}

Json summary_row(const std::string& context, const std::string& text, std::uint64_t until) {
  Json out = row(context, "", Json::array({Json{{"text", text}}}));
  out["metadata"] = {{kSummaryKey, {{"until", until}}}};
  return out;
}

}  // namespace agentd::runtime
