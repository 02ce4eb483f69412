#include "cli/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/fields.h"

namespace agentd::cli {
namespace {

std::string indented_json(const Json& value) {
  if (value.is_string()) return value.get<std::string>() + "\n";
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A note for each part that cannot be shown as text.
void note_unreadable(const Json& parts, const std::string& artifact, std::vector<std::string>& notes) {
  for (const auto& part : parts) {
    if (member(part, "raw").is_string()) {
      const std::string name = text_of(part, "filename");
      const std::string type = text_of(part, "mediaType");
      // Base64: four characters for three bytes.
      notes.push_back(fmt::format("{} holds {} ({}, about {} bytes): --out DIR writes it", artifact,
                                  name.empty() ? "binary data" : name, type.empty() ? "of no named type" : type,
                                  text_of(part, "raw").size() / 4 * 3));
    } else if (member(part, "url").is_string()) {
      notes.push_back(fmt::format("{} is at {}", artifact, text_of(part, "url")));
    }
  }
}

}  // namespace

std::string readable(const Json& parts, Joint joint) {
  std::string out;
  if (!parts.is_array()) return out;
  for (const auto& part : parts) {
    const bool is_text = member(part, "text").is_string();
    if (!is_text && !(part.is_object() && part.contains("data"))) continue;
    const bool piece = is_text && joint == Joint::kPieces;
    if (!piece && !out.empty() && out.back() != '\n') out += '\n';
    out += is_text ? text_of(part, "text") : indented_json(part.at("data"));
  }
  return out;
}

Answer::Shown Answer::take(const Json& response) {
  Shown shown;
  if (const Json& task = member(response, "task"); task.is_object()) {
    take_task(task, shown);
  } else if (const Json& update = member(response, "statusUpdate"); update.is_object()) {
    take_status(member(update, "status"), shown);
  } else if (const Json& piece = member(response, "artifactUpdate"); piece.is_object()) {
    take_artifact(member(piece, "artifact"), flag_of(piece, "append"), shown);
  } else if (const Json& message = member(response, "message"); message.is_object()) {
    has_message_ = true;
    shown.text = readable(member(message, "parts"));
  }
  if (!shown.text.empty()) {
    any_text_ = true;
    at_line_start_ = shown.text.back() == '\n';
  }
  return shown;
}

void Answer::take_task(const Json& task, Shown& shown) {
  if (task_id_.empty()) {
    task_id_ = text_of(task, "id");
    shown.notes.push_back(fmt::format("task {} in {}", task_id_, text_of(task, "contextId")));
  }
  if (const Json& artifacts = member(task, "artifacts"); artifacts.is_array()) {
    for (const auto& artifact : artifacts) take_artifact(artifact, false, shown);
  }
  take_status(member(task, "status"), shown);
}

void Answer::take_status(const Json& status, Shown& shown) {
  const std::string state = state_name(status);
  const std::string words = words_of(member(member(status, "message"), "parts"));
  if (state == state_ && words == status_words_) return;
  state_ = state;
  status_words_ = words;
  std::string name = state;
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '_' ? ' ' : static_cast<char>(std::tolower(c)); });
  shown.notes.push_back(words.empty() ? name : fmt::format("{}: {}", name, words));
}

void Answer::take_artifact(const Json& artifact, bool append, Shown& shown) {
  if (!artifact.is_object()) return;
  const std::string id = text_of(artifact, "artifactId");
  const auto known =
      std::ranges::find_if(artifacts_, [&](const Json& one) { return text_of(one, "artifactId") == id; });
  const Json& parts = member(artifact, "parts");
  if (known == artifacts_.end()) {
    artifacts_.push_back(artifact);
    show_artifact(artifacts_.back(), shown);
  } else {
    if (append && parts.is_array() && (*known)["parts"].is_array()) {
      growing_.insert(id);
      for (const auto& part : parts) (*known)["parts"].push_back(part);
    } else {
      *known = artifact;
    }
    show_artifact(*known, shown);
  }
}

void Answer::show_artifact(const Json& artifact, Shown& shown) {
  const std::string id = text_of(artifact, "artifactId");
  const Json& parts = member(artifact, "parts");
  const bool first = !shown_.contains(id);
  if (first && parts.is_array()) {
    const std::string name = text_of(artifact, "name");
    note_unreadable(parts, "artifact " + (name.empty() ? id : name), shown.notes);
  }
  std::string& before = shown_[id];
  std::string text = readable(parts, growing_.contains(id) ? Joint::kPieces : Joint::kLines);
  const bool grown = text.starts_with(before);
  const std::string_view fresh = std::string_view(text).substr(grown ? before.size() : 0);
  if (!fresh.empty()) {
    const bool line_start = shown.text.empty() ? at_line_start_ : shown.text.back() == '\n';
    if (!line_start && (!grown || current_ != id)) shown.text += '\n';
    shown.text += fresh;
    current_ = id;
  }
  before = std::move(text);
}

Answer::Shown Answer::finish() {
  Shown shown;
  if (!any_text_ && is_terminal(state_) && !status_words_.empty()) shown.text = status_words_ + "\n";
  if (any_text_ && !at_line_start_) shown.text = "\n";
  at_line_start_ = true;
  return shown;
}

bool Answer::is_settled() const { return has_message_ || is_terminal(state_) || is_interrupted(state_); }

}  // namespace agentd::cli
