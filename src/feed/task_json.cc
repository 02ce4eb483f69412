// The `task` payload: what the feed leaves out of a Task, and where its annotations stand.
#include <algorithm>

#include "base/check.h"
#include "base/json_writer.h"
#include "feed/bundle.h"
#include "feed/payload_json.h"
#include "feed/task_limits.h"

namespace agentd::feed {
namespace {

// The bytes of all strings in `value`: less than its JSON takes, and known without writing it.
std::size_t string_bytes(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  std::size_t sum = 0;
  if (value.is_structured()) {
    for (const Json& member : value) sum += string_bytes(member);
  }
  return sum;
}

// The JSON of `value`, unless it is longer than `limit`.
std::optional<std::string> dump_within(const Json& value, std::size_t limit) {
  if (string_bytes(value) > limit) return std::nullopt;
  std::string text = dump_json(value);
  if (text.size() > limit) return std::nullopt;
  return text;
}

// The newest messages, oldest first, as many as the limits let; without any the member is left out.
void append_history(ObjectWriter& task, std::string& out, const Json& history) {
  std::vector<std::string> newest;
  std::size_t left = kHistoryBytes;
  for (auto it = history.rbegin(); it != history.rend() && newest.size() < kHistoryMessages; ++it) {
    std::optional<std::string> text = dump_within(*it, left);
    if (!text.has_value()) break;
    left -= text->size();
    newest.push_back(std::move(*text));
  }
  if (newest.empty()) return;
  task.key("history");
  char separator = '[';
  for (auto it = newest.rbegin(); it != newest.rend(); ++it) {
    out += separator;
    out += *it;
    separator = ',';
  }
  out += ']';
}

Json without_parts(const Json& artifact) {
  Json out = Json::object();
  for (const char* key : {"artifactId", "name", "description"}) {
    if (artifact.contains(key)) out[key] = artifact[key];
  }
  out["parts"] = Json::array();
  if (artifact.contains("metadata")) out["metadata"] = artifact["metadata"];
  return out;
}

void append_artifacts(ObjectWriter& task, const Json& artifacts) {
  if (const auto whole = dump_within(artifacts, kArtifactBytes); whole.has_value()) {
    task.raw("artifacts", *whole);
    return;
  }
  Json list = Json::array();
  for (const Json& artifact : artifacts) list.push_back(without_parts(artifact));
  task.json("artifacts", list);
}

// Writes `metadata` last, and the annotations last in it, so that one range of the text is all that tells the
// two forms apart: the annotations with their comma, or `metadata` as a whole when nothing else is in it.
Cut append_metadata(ObjectWriter& task, std::string& out, const Task& payload) {
  const auto found = payload.task.find("metadata");
  Json own = found != payload.task.end() && found->is_object() ? *found : Json::object();
  own.erase(std::string(kTaskAnnotationsUri));
  const bool annotated = payload.annotations.is_object() && !payload.annotations.empty();
  if (own.empty() && !annotated) return {};

  const std::size_t before_all = out.size();
  task.key("metadata");
  ObjectWriter metadata(out);
  for (const auto& [key, value] : own.items()) metadata.json(key, value);
  const std::size_t before_annotations = out.size();
  if (annotated) metadata.json(kTaskAnnotationsUri, payload.annotations);
  const std::size_t after_annotations = out.size();
  metadata.close();
  if (!annotated) return {};
  if (own.empty()) return {.begin = before_all, .end = out.size()};
  return {.begin = before_annotations, .end = after_annotations};
}

}  // namespace

Cut append_data(std::string& out, const Task& payload) {
  AGENTD_CHECK(payload.task.is_object(), "a task payload holds a Task");
  ObjectWriter data(out);
  data.key("task");
  ObjectWriter task(out);
  for (const auto& [key, value] : payload.task.items()) {
    if (key == "history" && value.is_array()) {
      append_history(task, out, value);
    } else if (key == "artifacts" && value.is_array()) {
      append_artifacts(task, value);
    } else if (key != "metadata") {
      task.json(key, value);
    }
  }
  const Cut cut = append_metadata(task, out, payload);
  task.close();
  data.close();
  return cut;
}

}  // namespace agentd::feed
