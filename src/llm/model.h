// A chat model as a turn sees it: what it is asked, what it answers, whoever the provider is. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::llm {

struct ToolCall {
  std::string id, name;
  Json arguments = Json::object();  // a string when the model wrote no JSON object: its text, cut
  bool operator==(const ToolCall&) const = default;
};

// One message of a chat. An assistant has said `text` and then wants `calls`; a tool's result answers the call `call_id`.
struct ChatMessage {
  enum class Role : std::uint8_t { kUser, kAssistant, kTool };
  Role role = Role::kUser;
  std::string text;
  std::vector<ToolCall> calls = {};
  std::string call_id = {};
  bool is_error = false;  // of a tool's result
  bool operator==(const ChatMessage&) const = default;
};

struct ToolSpec {
  std::string name;  // ^[a-zA-Z0-9_-]{1,64}$
  std::string description;
  Json schema;  // JSON Schema of the arguments, an object
  bool operator==(const ToolSpec&) const = default;
};

struct ChatRequest {
  std::string instructions;
  std::vector<ChatMessage> messages;
  std::vector<ToolSpec> tools = {};
};

struct Usage {
  std::uint64_t input = 0, output = 0;  // tokens
  bool operator==(const Usage&) const = default;
};

// A whole answer. One that was cut is none.
struct Completion {
  enum class Stop : std::uint8_t {
    kEnd,      // it has said what it had to say
    kTools,    // it waits for the results of `calls`
    kLength,   // max_tokens, or the model's own window
    kRefused,  // by the model, or a filter of its provider
  };
  std::string text;
  // Each has an id of its own. None with kLength and kRefused: the last may be half.
  std::vector<ToolCall> calls;
  Usage usage;  // estimated where the provider does not count
  Stop stop = Stop::kEnd;
  std::string model = {};  // as its provider calls it
  bool operator==(const Completion&) const = default;
};

}  // namespace agentd::llm
