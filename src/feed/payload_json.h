// Payload to JSON: the one place that writes an event's `data` (events.md section 10), as text and only once.
//
// Pure functions. What is too big for the feed is cut here (task_limits.h). Invalid UTF-8 becomes U+FFFD.
#pragma once

#include <string>

#include "base/json.h"
#include "feed/payloads.h"

namespace agentd::feed {

// The range of a text that only subscribers with task-annotations are sent. What is left without it is valid
// JSON, with no empty `metadata` behind.
struct Cut {
  std::size_t begin = 0, end = 0;
};

[[nodiscard]] Cut append_data(std::string& out, const Task& payload);
void append_data(std::string& out, const TaskRemoved& payload);
void append_data(std::string& out, const Run& payload);
void append_data(std::string& out, const RunRemoved& payload);
void append_data(std::string& out, const StepStart& payload);
void append_data(std::string& out, const StepDone& payload);
void append_data(std::string& out, const Conversation& payload);
void append_data(std::string& out, const ConversationRemoved& payload);
void append_data(std::string& out, const Subagent& payload);
void append_data(std::string& out, const SubagentRemoved& payload);
void append_data(std::string& out, const Child& payload);
void append_data(std::string& out, const ChildRemoved& payload);
void append_data(std::string& out, const Activity& payload);
void append_data(std::string& out, const ActivityRemoved& payload);
void append_data(std::string& out, const Status& payload);
void append_data(std::string& out, const Draining& payload);
void append_data(std::string& out, const Paused& payload);
void append_data(std::string& out, const Resumed& payload);
void append_data(std::string& out, const Config& payload);
void append_data(std::string& out, const Audit& payload);
void append_data(std::string& out, const Auth& payload);

}  // namespace agentd::feed
