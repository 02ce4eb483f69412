#include "runtime/peer_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "a2a/states.h"
#include "runtime/message_text.h"

namespace agentd::runtime {
namespace {

constexpr std::size_t kMostBytes = 4U << 20U;  // of all artifacts
constexpr std::size_t kMostArtifacts = 256;

std::string text_at(const Json& holder, const char* key) {
  const auto at = holder.find(key);
  return at != holder.end() && at->is_string() ? at->get<std::string>() : "";
}

// Of a message or an artifact; "" when it has no parts.
std::string text_in(const Json& holder) {
  const auto parts = holder.find("parts");
  return parts != holder.end() && parts->is_array() ? chat_text_of(holder) : "";
}

a2a::TaskState state_of(const std::string& name) {
  return a2a::task_state(name).value_or(a2a::TaskState::kUnspecified);
}

}  // namespace

void PeerTask::take(const Json& response) {
  try {
    take_checked(response);
  } catch (const Json::exception&) {
    return;  // somebody else's JSON: of another shape than it should be
  }
}

void PeerTask::take_checked(const Json& response) {
  if (!response.is_object()) return;
  if (response.contains("task") && response["task"].is_object()) take_task(response["task"]);
  if (response.contains("message") && response["message"].is_object()) {
    answered_ = true;
    word_ = text_in(response["message"]);
  }
  if (response.contains("statusUpdate") && response["statusUpdate"].is_object()) take_task(response["statusUpdate"]);
  if (const Json update = response.value("artifactUpdate", Json()); update.is_object() && update.contains("artifact")) {
    take_artifact(update["artifact"], update.value("append", Json()) == true);
  }
}

void PeerTask::take_task(const Json& task) {
  if (const std::string id = text_at(task, task.contains("id") ? "id" : "taskId"); !id.empty()) id_ = id;
  if (const Json status = task.value("status", Json()); status.is_object()) {
    state_ = text_at(status, "state");
    word_ = status.contains("message") && status["message"].is_object() ? text_in(status["message"]) : "";
  }
  for (const Json& artifact : task.value("artifacts", Json::array())) take_artifact(artifact, false);
}

void PeerTask::take_artifact(const Json& artifact, bool append) {
  if (!artifact.is_object()) return;
  const std::string id = text_at(artifact, "artifactId");
  auto known = std::ranges::find(artifacts_, id, &std::pair<std::string, std::string>::first);
  std::string text = text_in(artifact);
  if (known == artifacts_.end()) {
    if (artifacts_.size() == kMostArtifacts) return void(is_cut_ = true);
    known = artifacts_.insert(known, {id, ""});
  }
  if (!append) bytes_ -= std::exchange(known->second, "").size();
  const std::size_t room = kMostBytes - std::min(bytes_, kMostBytes);
  if (text.size() > room) {
    text = room > 0 ? cut_text(text, room) : "";
    is_cut_ = true;
  }
  bytes_ += text.size();
  known->second += text;
}

bool PeerTask::is_over() const { return answered_ || a2a::is_terminal(state_of(state_)); }

bool PeerTask::is_settled() const { return is_over() || a2a::is_interrupted(state_of(state_)); }

ToolOutcome PeerTask::outcome() const {
  std::string text;
  const auto add = [&text](const std::string& more) {
    if (!text.empty() && !more.empty()) text += "\n\n";
    text += more;
  };
  for (const auto& [id, artifact] : artifacts_) add(artifact);
  if (is_cut_) add("(The rest of what it made is left out here.)");
  add(word_);
  if (answered_ || state_ == "TASK_STATE_COMPLETED") return {.text = text.empty() ? "It is done." : text};
  if (a2a::is_interrupted(state_of(state_))) {
    return {.text = fmt::format("The agent asks: {}\n(Answer with this tool and task \"{}\".)", word_, id_)};
  }
  return {.text = fmt::format("The agent's task ended in {}: {}", state_, text), .is_error = true};
}

}  // namespace agentd::runtime
