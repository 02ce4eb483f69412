// The typed payload of each of the 18 kinds (events.md section 10). A push takes one of these, so a kind
// outside the table does not compile. Plain values; `std::nullopt` is JSON null, unless a comment says
// "left out". What has an initialiser may be left out where a payload is made; the rest may not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::feed {

using Count = std::uint64_t;

struct Task {
  Json task;         // the A2A Task, without annotations, in wire form
  Json annotations;  // what metadata[task-annotations URI] holds for subscribers that activated it
};
struct TaskRemoved {
  std::string id;
};
struct Run {
  std::string id, workflow, status, start;  // start: what started it: "command", "message", "schedule", …
  std::map<std::string, Count> steps;       // status -> count
  Count tokens = 0;
  Count created = 0, updated = 0;  // epoch ms
  std::optional<Count> finished = {};
  Json output;  // any; null until there is one
  std::optional<std::string> error = {}, task = {}, principal = {};
};
struct RunRemoved {
  std::string id;
};
struct StepStart {
  std::string run, step, kind;
  Count attempt = 1;
};
struct StepDone {
  std::string run, step, status;
  Count attempt = 1, tokens = 0;
  std::optional<std::string> err = {};  // cut to 2,048 characters by the push
};
struct Conversation {
  std::string id, context_id, kind;
  Count version = 0, messages = 0, est_tokens = 0, turns = 0;
  std::optional<std::string> principal = {};
  std::vector<std::string> skills;
  std::optional<std::string> plan = {};
  Count updated = 0;
};
struct ConversationRemoved {
  std::string id;
};
struct Subagent {
  std::string handle, mode, status;
  Count tokens = 0;
  std::optional<std::string> error = {};
  Count updated = 0;
};
struct SubagentRemoved {
  std::string id;
};
struct Child {
  Count node = 0, pid = 0;
  std::string kind;  // "turn:…", "step:<run>/<step>", "mcp:<server>", "subagent:<handle>"
  Count age_ms = 0, tokens = 0;
  bool cancelled = false;
};
struct ChildRemoved {
  std::string id;
};
struct Activity {
  std::string id;
  std::optional<std::string> task = {}, ctx = {};
  std::string phase;  // "thinking", "tool" or "waiting"
  std::optional<std::string> tool = {};
  Count round = 0, tokens_in = 0, tokens_out = 0, started_ms = 0, updated_ms = 0;
};
struct ActivityRemoved {
  std::string id;
};
struct Status {
  std::string instance, model, version;
  bool draining = false;
  Count inbox_pending = 0;
  Json counters = Json::object(), budget = Json::object();
  std::string store_kind;
  bool store_degraded = false;
  Json values = Json::object();
  std::string skill_prefix;
};
struct Draining {
  std::string reason;
};
struct Paused {
  std::string reason;
};
struct Resumed {};
struct Config {
  std::vector<std::string> paths;
  std::string source;  // "reload" or "admin.set"
};
struct Audit {
  Count ts = 0;
  std::optional<std::string> principal = {}, role = {};
  std::string action;
  Json target;
  std::string outcome;
  std::optional<std::string> sid = {};  // left out
};
struct Auth {
  std::string event, client_id, scope;
  std::optional<std::string> user_code = {}, peer = {}, sid = {}, name = {};  // left out
};

}  // namespace agentd::feed
