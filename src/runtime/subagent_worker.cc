#include "runtime/subagent_worker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/transcript.h"

namespace agentd::runtime {
namespace {

using llm::ChatMessage;
using Role = ChatMessage::Role;

constexpr std::uint64_t kMostTokens = 500'000;  // about 2 MB, which is below 16 MiB however it is escaped

constexpr const char* kRoles[] = {"user", "assistant", "tool"};

Role role_of(const std::string& name) {
  return name == "assistant" ? Role::kAssistant : name == "tool" ? Role::kTool : Role::kUser;
}

}  // namespace

Json to_json(const llm::ToolCall& call) {
  return {{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}};
}

llm::ToolCall call_from_json(const Json& json) {
  return {.id = json.at("id"), .name = json.at("name"), .arguments = json.at("arguments")};
}

Json to_json(const std::vector<ChatMessage>& messages) {
  Json out = Json::array();
  for (const ChatMessage& message : messages) {
    Json one = {{"role", kRoles[static_cast<std::size_t>(message.role)]}, {"text", message.text}};
    for (const llm::ToolCall& call : message.calls) one["calls"].push_back(to_json(call));
    if (message.role == Role::kTool) {
      one["id"] = message.call_id;
      one["isError"] = message.is_error;
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<ChatMessage> messages_from_json(const Json& json) {
  std::vector<ChatMessage> out;
  for (const Json& one : json) {
    ChatMessage message{.role = role_of(one.at("role")), .text = one.at("text")};
    for (const Json& call : one.value("calls", Json::array())) message.calls.push_back(call_from_json(call));
    message.call_id = one.value("id", "");
    message.is_error = one.value("isError", false);
    out.push_back(std::move(message));
  }
  return out;
}

Result<std::vector<Json>> SubagentWorker::take(const Json& line) {
  try {
    if (line.contains("begin")) {
      ++heard_;
      messages_ = {{.text = line["begin"].at("instruction")}};
      return ask();
    }
    if (line.contains("say")) {
      ++heard_;
      said_.push_back(line["say"].at("text"));
      return at_work_ ? std::vector<Json>{} : ask();
    }
    if (line.contains("completion")) return take_completion(line["completion"]);
    if (line.contains("result")) return take_result(line["result"]);
  } catch (const std::exception& error) {
    return fail(Code::kParse, error.what());
  }
  return fail(Code::kParse, "a line of no known kind");
}

std::vector<Json> SubagentWorker::ask() {
  for (std::string& text : std::exchange(said_, {})) messages_.push_back({.text = std::move(text)});
  at_work_ = true;
  // What no model can be told any more need not be kept either; a line is bounded (ChildSpec::on_line).
  Transcript::shorten(messages_, kMostTokens);
  return {Json{{"ask", {{"messages", to_json(messages_)}}}}};
}

std::vector<Json> SubagentWorker::take_completion(const Json& completion) {
  ChatMessage answer{.role = Role::kAssistant, .text = completion.at("text")};
  for (const Json& call : completion.at("calls")) answer.calls.push_back(call_from_json(call));
  calls_ = answer.calls;
  messages_.push_back(std::move(answer));
  if (calls_.empty()) {
    if (!said_.empty()) return ask();
    at_work_ = false;
    return {Json{{"done", {{"text", messages_.back().text}, {"heard", heard_}}}}};
  }
  std::vector<Json> out;
  for (const llm::ToolCall& call : calls_) out.push_back({{"use", to_json(call)}});
  return out;
}

std::vector<Json> SubagentWorker::take_result(const Json& result) {
  results_.push_back({.role = Role::kTool,
                      .text = result.at("text"),
                      .call_id = result.at("id"),
                      .is_error = result.value("isError", false)});
  if (results_.size() < calls_.size()) return {};
  // In the order of the calls, whichever was faster.
  for (const llm::ToolCall& call : calls_) {
    const auto at = std::ranges::find(results_, call.id, &ChatMessage::call_id);
    if (at != results_.end()) messages_.push_back(*at);
  }
  results_.clear();
  calls_.clear();
  return ask();
}

}  // namespace agentd::runtime
