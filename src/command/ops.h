// The ops of the command extension: one table, from which the bundle, the card's params and the checks come (command.md).
// Immutable; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "access/caller.h"
#include "base/json.h"

namespace agentd::command {

enum class Op : std::uint8_t {
  kStatus,
  kConfig,
  kWorkflowRun,
  kWorkflowStatus,
  kWorkflowCancel,
  kWorkflowSignal,
  kSubagentSend,
  kSubagentKill,
  kSubagentStatus,
  kPlanGet,
  kConversationGet,
  kRunGet,
  kSubagentGet,
  kDebugEvents,
  kAdminDrain,
  kAdminPause,
  kAdminResume,
  kAdminCancel,
  kAdminSet,
  kDevicePending,
  kDeviceApprove,
  kDeviceDeny,
  kSessions,
  kSessionsRevoke,
};
enum class ReplyKind : std::uint8_t { kMessage, kTask };
// Whose op it is, beside operators and those to whom it is granted. The operator's are nobody else's, whatever is granted.
enum class Reach : std::uint8_t { kAny, kUserAndAgent, kUser, kGrant, kOperator };
// What is off may take an op away: without sign-in it is not there, without introspection it is refused.
enum class Gate : std::uint8_t { kNone, kSignIn, kIntrospection };
struct Gates {
  bool sign_in = false, introspection = false;
};

struct OpRow {
  Op op;
  std::string_view name;
  ReplyKind reply;
  Reach reach;
  Gate gate;
  std::string_view description;
  std::string_view args;  // JSON Schema of the arguments' object, closed
  Json (*result)();       // JSON Schema of the document (message) or of the artifact's data (task)
};

[[nodiscard]] std::span<const OpRow> ops();
// Null when there is no such op.
[[nodiscard]] const OpRow* find_op(std::string_view name);

[[nodiscard]] bool may_run(const access::Caller& caller, const OpRow& row);

// [{op, reply}], for the card: all of them, and those that one caller may run here.
[[nodiscard]] Json ops_json();
[[nodiscard]] Json ops_json(const access::Caller& caller, Gates open);
// The paths that admin.set moves, for the card: [] for who may not run it.
[[nodiscard]] Json settable_json(const access::Caller& caller);
// JSON Schema (draft 2020-12): root = the data of a command part; $defs/envelopes/$defs/<op>; $defs/ops/<op>.
[[nodiscard]] Json command_bundle();

}  // namespace agentd::command
