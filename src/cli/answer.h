// Answer: what came back for a message so far, put together from a task's snapshots and updates.
//
// No I/O: take() says what there is to show. An artifact that grows is shown piece by piece; a snapshot after
// a cut shows only what was not shown before. Confined to one thread. Holds the artifacts whole.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::cli {

class Answer final {
 public:
  // What to show: `text` is the answer itself, as the agent wrote it; each note is a line about its progress.
  struct Shown {
    std::string text;
    std::vector<std::string> notes;
  };

  // `response` is a StreamResponse or a SendMessageResponse: exactly one of task, message, statusUpdate,
  // artifactUpdate. Anything else is nothing.
  Shown take(const Json& response);
  // What is left at the end: the line feed that the text lacks, or the last status message if there was no
  // text.
  Shown finish();

  [[nodiscard]] const std::string& task_id() const { return task_id_; }
  [[nodiscard]] const std::string& state() const { return state_; }  // "COMPLETED", …; empty without a task
  // A message came, or the task has ended or waits for a person: nothing more will come by itself.
  [[nodiscard]] bool is_settled() const;
  [[nodiscard]] const std::vector<Json>& artifacts() const { return artifacts_; }

 private:
  void take_task(const Json& task, Shown& shown);
  void take_status(const Json& status, Shown& shown);
  void take_artifact(const Json& artifact, bool append, Shown& shown);
  void show_artifact(const Json& artifact, Shown& shown);

  std::string task_id_;
  std::string state_;
  std::string status_words_;
  bool has_message_ = false;
  std::vector<Json> artifacts_;               // in the order of their first appearance
  std::map<std::string, std::string> shown_;  // artifactId -> its text as far as it was shown
  std::set<std::string> growing_;             // artifacts that came in pieces
  std::string current_;                       // the artifact that the text shown last belongs to
  bool any_text_ = false;
  bool at_line_start_ = true;
};

// The text of artifact or message parts as it is to be read: texts as they are, data as indented JSON (a
// string as itself), and nothing of bytes and links. Each part begins a line, unless they are pieces of one
// text.
enum class Joint : std::uint8_t { kLines, kPieces };
[[nodiscard]] std::string readable(const Json& parts, Joint joint = Joint::kLines);

}  // namespace agentd::cli
