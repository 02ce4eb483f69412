// Transcript: a conversation as a model is told of it, made of the conversation's rows and back.
//
// A row is an A2A message. What the agent wanted of its tools and what they gave are rows of the agent too, with data parts
// {toolCall: {id, name, arguments}} and {toolResult: {id, name, text, isError}}; a summary stands for all rows up to its number. Several tasks may
// write in one conversation at a time, so what belongs together is found by the task's id.
// Pure; confined to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "llm/model.h"

namespace agentd::runtime {

struct ToolResultRow {
  llm::ToolCall call;
  std::string text;
  bool is_error = false;
};

class Transcript final {
 public:
  // The result of a call that the daemon was stopped in.
  static constexpr std::string_view kInterrupted =
      "The daemon was stopped while this ran. Whether it took effect is not known; look before doing it again.";

  // `task`: whose turn it is.
  explicit Transcript(std::string task) : task_(std::move(task)) {}

  // A row, in the order of their numbers.
  void add(std::uint64_t number, const Json& message);

  // As the model is to see it: each call is followed by its result. Calls of this task that have none yet are pending(), and are
  // said to have been interrupted; calls of other tasks that have none are left out.
  [[nodiscard]] std::vector<llm::ChatMessage> messages() const;
  // The newest calls of this task that have no result, in their order.
  [[nodiscard]] std::vector<llm::ToolCall> pending() const;
  // Whether the newest word of this task is the agent's last: nothing is left to answer.
  [[nodiscard]] bool is_answered() const;

  // Takes 4 bytes for a token.
  [[nodiscard]] static std::uint64_t tokens_of(const std::vector<llm::ChatMessage>& messages);
  [[nodiscard]] static std::uint64_t tokens_of(std::string_view text);
  // Until the estimate is `tokens` or there is nothing to cut: long results of tools are cut, oldest first, then long texts, then the oldest
  // messages are left out, up to what a person said. The newest stay as they are.
  static void shorten(std::vector<llm::ChatMessage>& messages, std::uint64_t tokens, std::size_t newest = 4);
  // What a summary should stand for: the row up to which to summarise so that about `tokens` of the newest stay as they are, whole turns only;
  // 0 = nothing.
  [[nodiscard]] std::uint64_t oldest_to_keep(std::uint64_t tokens) const;
  // The messages up to that row, to be summarised.
  [[nodiscard]] std::vector<llm::ChatMessage> messages_until(std::uint64_t number) const;

 private:
  enum class Kind : std::uint8_t { kUser, kAgent, kResult };
  struct Row {
    std::uint64_t number = 0;
    std::string task;
    Kind kind = Kind::kUser;
    llm::ChatMessage message;
  };
  [[nodiscard]] std::vector<llm::ChatMessage> between(std::uint64_t after, std::uint64_t until) const;
  void add_agent(std::vector<llm::ChatMessage>& out, std::size_t at, std::vector<bool>& used) const;
  // The row that holds the result of a call of row `at`, or npos.
  [[nodiscard]] std::size_t result_of(std::size_t at, const std::string& call, const std::vector<bool>& used) const;

  const std::string task_;
  std::vector<Row> rows_;
  std::uint64_t summarised_ = 0;  // up to this row
  std::string summary_;
};

// The text of a row that stands for all before it, or nothing.
[[nodiscard]] std::optional<std::string> summary_in(const Json& message);

// Rows of the agent, as messages of the task.
[[nodiscard]] Json agent_row(const std::string& context, const std::string& task, const std::string& text,
                             const std::vector<llm::ToolCall>& calls);
[[nodiscard]] Json result_row(const std::string& context, const std::string& task, const ToolResultRow& result);
[[nodiscard]] Json summary_row(const std::string& context, const std::string& text, std::uint64_t until);

}  // namespace agentd::runtime
