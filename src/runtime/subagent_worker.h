// SubagentWorker: what a subagent's process does: it keeps a conversation of its own, and works in rounds until it has an answer.
//
// It has no network, no key and no tool of its own: it asks its daemon for all of that, in lines of JSON. Down: {begin: {instruction}},
// {say: {text}}, {completion: {text, calls: [{id, name, arguments}]}}, {result: {id, text, isError}}. Up: {ask: {messages}}, {use: {id, name, arguments}},
// {done: {text, heard}}, where `heard` counts what it was told to do. After `done` it is warm: what is said to it then goes on with the same conversation.
// No I/O: a line in, lines out. Confined to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "llm/model.h"

namespace agentd::runtime {

class SubagentWorker final {
 public:
  // What it says to a line. Error: kParse, for a line that is none of the protocol; nothing has changed.
  [[nodiscard]] Result<std::vector<Json>> take(const Json& line);

 private:
  std::vector<Json> ask();
  std::vector<Json> take_completion(const Json& completion);
  std::vector<Json> take_result(const Json& result);

  std::vector<llm::ChatMessage> messages_;
  std::uint64_t heard_ = 0;
  std::vector<std::string> said_;          // meanwhile: for the next round
  std::vector<llm::ToolCall> calls_;       // of the newest answer
  std::vector<llm::ChatMessage> results_;  // of them, so far
  bool at_work_ = false;
};

// The messages of a chat as `ask` carries them, and back.
[[nodiscard]] Json to_json(const llm::ToolCall& call);
[[nodiscard]] llm::ToolCall call_from_json(const Json& json);
[[nodiscard]] Json to_json(const std::vector<llm::ChatMessage>& messages);
[[nodiscard]] std::vector<llm::ChatMessage> messages_from_json(const Json& json);

}  // namespace agentd::runtime
