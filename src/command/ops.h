// The ops of the command extension: one table, from which the bundle, the card's params and the checks come (command.md).
// Immutable; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/json.h"

namespace agentd::command {

enum class Op : std::uint8_t { kStatus, kWorkflowRun };
enum class ReplyKind : std::uint8_t { kMessage, kTask };

struct OpRow {
  Op op;
  std::string_view name;
  ReplyKind reply;
  std::string_view description;
  std::string_view args;    // JSON Schema of the arguments' object, closed
  std::string_view result;  // JSON Schema of the document (message) or of the artifact's data (task)
};

[[nodiscard]] const std::array<OpRow, 2>& ops();
// Null when there is no such op.
[[nodiscard]] const OpRow* find_op(std::string_view name);

// [{op, reply}], for the card.
[[nodiscard]] Json ops_json();
// JSON Schema (draft 2020-12): root = the data of a command part; $defs/envelopes/$defs/<op>; $defs/ops/<op>.
[[nodiscard]] Json command_bundle();

}  // namespace agentd::command
