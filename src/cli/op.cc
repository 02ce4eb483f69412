#include "cli/op.h"

#include <fmt/format.h>

#include "cli/fields.h"
#include "cli/message.h"

namespace agentd::cli {
namespace {

std::unexpected<Error> no_result() { return fail(Code::kParse, "the daemon's answer holds no result"); }

// The data of the only part of a message or an artifact.
Result<Json> data_of(const Json& holder) {
  const Json& parts = member(holder, "parts");
  if (!parts.is_array() || parts.size() != 1 || !member(parts[0], "data").is_object()) return no_result();
  return member(parts[0], "data");
}

Result<Json> result_of(const Json& task) {
  const std::string state = state_name(member(task, "status"));
  if (state != "COMPLETED") {
    const std::string words = words_of(member(member(member(task, "status"), "message"), "parts"));
    return fail(Code::kInternal, words.empty() ? fmt::format("the task is {}", state) : words);
  }
  const Json& artifacts = member(task, "artifacts");
  if (!artifacts.is_array()) return no_result();
  for (const auto& artifact : artifacts) {
    if (text_of(artifact, "artifactId") == text_of(task, "id") + ".result") return data_of(artifact);
  }
  return no_result();
}

}  // namespace

Result<Json> run_op(const client::Rpc& rpc, const Json& command, client::Deadlines deadlines) {
  auto answer = rpc.call({.method = "SendMessage",
                          .params = {{"message", command_message(command)}},
                          .extensions = {client::kCommandUri},
                          .deadlines = deadlines});
  if (!answer) return std::unexpected(std::move(answer.error()));
  const Json& message = member(*answer, "message");
  return message.is_object() ? data_of(message) : result_of(member(*answer, "task"));
}

}  // namespace agentd::cli
