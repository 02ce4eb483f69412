// Gate: a question that a task waits with until somebody answers (INPUT_REQUIRED; runtime.md rule 6). Values; the functions are pure.
//
// A task has at most one open gate. It is part of the task's row and so outlives the daemon. The first valid answer closes it; what
// came of it stays with the task until the next one, so that who comes second can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace agentd::runtime {

// Metadata of messages: of one that asks {id, kind, …}, of one that answers the id of what it answers.
inline constexpr char kGateKey[] = "https://agentd.dev/a2a/gate";
// Stands for who answered when nobody did.
inline constexpr char kNobody[] = "nobody";
// `kind` of what a tool asks, in ToolQuestion::about, when it is Gate::Kind::kSignIn.
inline constexpr char kSignInKind[] = "sign_in";

struct Gate {
  enum class Kind : std::uint8_t {
    kQuestion,     // the agent's own (ask_human)
    kApproval,     // whether a tool may be used
    kElicitation,  // a tool's, while it works
    kSignIn,       // a tool's, which waits for a person to sign in elsewhere (AUTH_REQUIRED)
  };
  std::string id = {};
  Kind kind = Kind::kQuestion;
  std::string question = {};
  Json schema = nullptr;         // of the answer; null = any text
  std::string call = {};         // the tool call that waits for it
  std::int64_t deadline_ms = 0;  // epoch; 0 = none
  std::string answered_by = {};  // "" = open
  std::int64_t answered_ms = 0;
  bool operator==(const Gate&) const = default;

  [[nodiscard]] bool is_open() const { return answered_by.empty(); }
  // Whether a tool waits for it, which is gone with the daemon.
  [[nodiscard]] bool is_of_tool() const { return kind == Kind::kElicitation || kind == Kind::kSignIn; }
  // Whether it decides on the use of a tool, be it a subagent's, which is asked about as tools ask.
  [[nodiscard]] bool is_approval() const;
};

[[nodiscard]] std::string_view to_string(Gate::Kind kind);
[[nodiscard]] Json to_json(const Gate& gate);
// Of what to_json() gave; throws what the Json library throws.
[[nodiscard]] Gate gate_from_json(const Json& json);

// {decision: approve or deny, reason?}
[[nodiscard]] Json approval_schema();

// What a message says to the gate: its data part as it is, or its text, read in the simplest way that the schema lets: a yes or no for an
// approval, the only member of an object, JSON. Errors: kInvalidParams with each miss and its path below "message"; the gate
// stays open.
[[nodiscard]] Result<Json> read_answer(const Gate& gate, const Json& message);

}  // namespace agentd::runtime
