#include "cli/message.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "client/rpc.h"

namespace agentd::cli {
namespace {

constexpr const char* kDefaultContext = "root";

Status add_input(const std::string& word, Json& inputs) {
  const auto equals = word.find('=');
  const bool is_json = equals != std::string::npos && equals > 0 && word[equals - 1] == ':';
  const std::string name = word.substr(0, is_json ? equals - 1 : equals);
  if (equals == std::string::npos || name.empty()) {
    return fail(Code::kConfig, fmt::format("--input '{}' is neither name=text nor name:=json", word));
  }
  if (inputs.contains(name)) return fail(Code::kConfig, fmt::format("--input '{}' is given twice", name));
  if (!is_json) {
    inputs[name] = word.substr(equals + 1);
    return {};
  }
  auto value = parse_json(word.substr(equals + 1));
  if (!value) return fail(Code::kConfig, fmt::format("--input '{}': {}", name, value.error().message));
  inputs[name] = std::move(*value);
  return {};
}

}  // namespace

Json command_message(const Json& command) {
  return {{"messageId", random_uuid()},
          {"role", "ROLE_USER"},
          {"parts", Json::array({{{"data", {{"agentd", command}}}}})},
          {"extensions", Json::array({client::kCommandUri})}};
}

Json workflow_message(const std::string& workflow, const Json& inputs) {
  return command_message({{"op", "workflow.run"}, {"workflow", workflow}, {"inputs", inputs}});
}

Result<Json> send_params(const SendOptions& options, const std::string& text) {
  Json message = {{"messageId", random_uuid()}, {"role", "ROLE_USER"}, {"parts", Json::array()}};
  if (!options.workflow.empty()) {
    Json inputs = Json::object();
    for (const auto& word : options.inputs) {
      if (const auto added = add_input(word, inputs); !added) return std::unexpected(added.error());
    }
    message = workflow_message(options.workflow, inputs);
  }
  if (!text.empty()) message["parts"].push_back({{"text", text}});
  if (!options.task.empty()) message["taskId"] = options.task;
  if (!options.context.empty()) {
    message["contextId"] = options.context;
  } else if (options.task.empty()) {
    message["contextId"] = kDefaultContext;
  }
  Json params = {{"message", std::move(message)}};
  if (!options.wait) params["configuration"] = {{"returnImmediately", true}};
  return params;
}

}  // namespace agentd::cli
