// Script: what a scripted turn does, action by action. Plain values, which the runtime carries out with its
// own timers.
//
// A turn that no SetState, RunWorkflow or DirectMessage ends is completed by the runtime, without a status
// message. The texts of its Text actions are the parts of one artifact, whose id and name are "answer".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace agentd::llm {

// What a turn may end in, or wait in.
enum class State : std::uint8_t { kCompleted, kFailed, kCanceled, kRejected, kInputRequired, kAuthRequired };
[[nodiscard]] std::string_view to_string(State state);  // "completed", "input_required", …

// Of the answer.
struct Text {
  std::string text;
  bool operator==(const Text&) const = default;
};
// The message of a status with the state WORKING.
struct Say {
  std::string text;
  bool operator==(const Say&) const = default;
};
struct Artifact {
  std::string name, id, description;  // id: "" = the runtime's choice, the same one for the same name
  Json parts;                         // as on the wire: [{text | raw | url | data, mediaType?, filename?, metadata?}]
  bool append = false, last_chunk = false;
  bool operator==(const Artifact&) const = default;
};
// One artifact in several updates, each appended to the one before; see pieces().
struct Chunks {
  std::string artifact, text;
  std::size_t size = 16;
  std::int64_t delay_ms = 0;  // between two
  bool operator==(const Chunks&) const = default;
};
struct Delay {
  std::int64_t ms = 0;
  bool operator==(const Delay&) const = default;
};
struct SetState {
  State state = State::kCompleted;
  std::string message;
  bool operator==(const SetState&) const = default;
};
// The answer is this message, and there is no task.
struct DirectMessage {
  Json parts;
  bool operator==(const DirectMessage&) const = default;
};
// A run is started, and the task follows it to its end.
struct RunWorkflow {
  std::string name;
  Json inputs = Json::object();
  bool operator==(const RunWorkflow&) const = default;
};
// The activity has the phase `tool` for this time.
struct UseTool {
  std::string name;
  std::int64_t delay_ms = 0;
  bool operator==(const UseTool&) const = default;
};

using Action = std::variant<Text, Say, Artifact, Chunks, Delay, SetState, DirectMessage, RunWorkflow, UseTool>;

struct Script {
  std::vector<Action> actions;
  bool direct_message = false;  // one of the actions is a DirectMessage; the others are delays
};

// The texts of the updates, at least one: `size` bytes each, longer by what completes a character, and longer
// throughout where there would be more than 10,000.
[[nodiscard]] std::vector<std::string> pieces(const Chunks& chunks);

}  // namespace agentd::llm
