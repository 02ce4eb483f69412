// Commands: what a sending method does with its message: an op of the command extension, or a message to the agent.
//
// The checks of an envelope and their order are command.md section 1. Core-confined.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "command/ops.h"
#include "runtime/service.h"
#include "runtime/settings.h"
#include "runtime/sign_in.h"
#include "runtime/skills.h"
#include "runtime/subagents.h"
#include "schema/validator.h"

namespace agentd::command {

// A command part that has passed the checks.
struct Command {
  std::string op;
  const OpRow* row = nullptr;  // null: one that a workflow declares
  std::string workflow;        // that it would run; "" = none
  Json args;                   // without `op`
  std::string field;           // "message.parts[0].data.agentd"
};

// What ops read and change; all of it outlives the commands.
struct CommandParts {
  runtime::Service& service;
  runtime::Journal& journal;
  feed::Feed& feed;
  runtime::Instance& instance;
  runtime::Runs& runs;
  const runtime::ChildList& children;
  runtime::Conversations& conversations;
  runtime::Turns& turns;
  runtime::Subagents& subagents;
  const runtime::Tools& tools;
  const runtime::Skills& skills;
  runtime::SignIn& sign_in;
  runtime::Settings& settings;
  bool with_seq = true;                                // the events extension is on
  std::function<void(const std::string&)> drain = {};  // once what was answered before it has been sent
};

class Commands final {
 public:
  explicit Commands(CommandParts parts);

  // SendMessage and SendStreamingMessage.
  void send(const runtime::Call& call, const Json& params, runtime::Delivery delivery);

  // An answer to a sign-in that waits, given on the approval page: auth.device.approve or auth.device.deny, with its arguments,
  // as the op of that name. Errors: those of the op, with faults below "form".
  [[nodiscard]] Result<Json> decide(const access::Caller& who, const Json& agentd);

 private:
  // Nothing when the message holds no command part. Errors: those of command.md section 1.
  [[nodiscard]] Result<std::optional<Command>> read(const runtime::Call& call, const runtime::Sending& sending) const;
  [[nodiscard]] Result<Command> read_args(const Json& agentd, const std::string& field) const;
  // kPermissionDenied, unless the caller may run it.
  [[nodiscard]] Status check_reach(const access::Caller& caller, const Command& command) const;
  // To what it would be done, as far as that is there.
  [[nodiscard]] Json target_of(const Command& command) const;
  void run_workflow(const runtime::Call& call, runtime::Sending sending, Command command, runtime::Delivery delivery);
  // What a reading op answers with; nothing when `command` is none, or answers later.
  [[nodiscard]] std::optional<Result<Json>> read_document(const runtime::Call& call, const runtime::Sending& sending,
                                                          const Command& command, runtime::Delivery& delivery);
  // What an op that works does.
  [[nodiscard]] Result<runtime::Done> act(const access::Caller& caller, const Command& command);
  [[nodiscard]] Result<runtime::Done> pause(const Json& args);
  [[nodiscard]] Result<runtime::Done> resume(const Json& args);
  [[nodiscard]] Result<runtime::Done> drain(const Json& args);

  const CommandParts parts_;
  std::map<Op, schema::Validator> args_;
};

}  // namespace agentd::command
