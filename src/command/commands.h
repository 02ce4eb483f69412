// Commands: what a sending method does with its message: an op of the command extension, or a message to the agent.
//
// The checks of an envelope and their order are command.md section 1. Core-confined.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "command/ops.h"
#include "runtime/service.h"
#include "runtime/settings.h"
#include "runtime/sign_in.h"
#include "schema/validator.h"

namespace agentd::command {

// A command part that has passed the checks.
struct Command {
  const OpRow* row = nullptr;
  Json args;          // without `op`
  std::string field;  // "message.parts[0].data.agentd"
};

class Commands final {
 public:
  // `status` builds the document for one viewer.
  Commands(runtime::Service& service, runtime::Runs& runs, runtime::SignIn& sign_in, runtime::Settings& settings,
           std::function<Json(const feed::Viewer&)> status);

  // SendMessage and SendStreamingMessage.
  void send(const runtime::Call& call, const Json& params, runtime::Delivery delivery);

 private:
  // Nothing when the message holds no command part. Errors: those of command.md section 1.
  [[nodiscard]] Result<std::optional<Command>> read(const runtime::Call& call, const runtime::Sending& sending) const;
  [[nodiscard]] Result<Command> read_args(const Json& agentd, const std::string& field) const;
  // To what it would be done, as far as that is there.
  [[nodiscard]] Json target_of(const Command& command) const;
  void run_workflow(const runtime::Call& call, runtime::Sending sending, Command command, runtime::Delivery delivery);
  void reply_document(const runtime::Sending& sending, Json document, runtime::Delivery delivery);

  runtime::Service& service_;
  runtime::Runs& runs_;
  runtime::SignIn& sign_in_;
  runtime::Settings& settings_;
  const std::function<Json(const feed::Viewer&)> status_;
  std::map<Op, schema::Validator> args_;
};

}  // namespace agentd::command
