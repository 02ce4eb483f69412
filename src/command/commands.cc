#include "command/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/json_writer.h"
#include "command/declared_ops.h"
#include "command/reads.h"
#include "command/status_document.h"

namespace agentd::command {
namespace {

constexpr char kDataKey[] = "agentd";
constexpr std::size_t kEnvelopeBytes = 512;  // of the message around a document
constexpr const char* kDefaultReason = "operator request";
const feed::Viewer kEverything{.is_operator = true, .principal = "operator"};

std::string command_uri() { return std::string(a2a::uri(a2a::Extension::kCommand)); }

std::unexpected<Error> refuse(Code code, const std::string& field, std::string message,
                              std::vector<std::pair<std::string, std::string>> metadata = {}) {
  Error error{
      .code = code, .message = message, .violations = {{field, std::move(message)}}, .metadata = std::move(metadata)};
  return std::unexpected(std::move(error));
}

// Type and subtype, without case and parameters; "*/*" and "application/*" admit JSON too.
bool admits_json(const Json& modes) {
  if (modes.empty()) return true;
  return std::ranges::any_of(modes, [](const Json& mode) {
    std::string text = mode.get<std::string>();
    text = text.substr(0, text.find(';'));
    while (text.ends_with(' ')) text.pop_back();
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text == "application/json" || text == "application/*" || text == "*/*";
  });
}

std::vector<std::size_t> command_parts(const Json& message) {
  std::vector<std::size_t> out;
  const Json& parts = message["parts"];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto data = parts[i].find("data");
    if (data != parts[i].end() && data->is_object() && data->contains(kDataKey)) out.push_back(i);
  }
  return out;
}

// What an op says of its arguments, as a refusal of them.
Error of_args(Error error, const std::string& op) {
  if (error.code != Code::kInvalidParams) return error;
  error.code = Code::kInvalidCommandArgs;
  error.metadata = {{"op", op}};
  return error;
}

std::string_view whose(Reach reach) {
  switch (reach) {
    case Reach::kAny: return "everybody";
    case Reach::kUserAndAgent: return "users and agents";
    case Reach::kUser: return "users, and for whom a grant names it";
    case Reach::kGrant: return "operators, and for whom a grant names it";
    case Reach::kOperator: return "operators";
  }
  return "operators";
}

std::string_view whose(const workflow::CommandStart& start) {
  if (start.users && start.agents) return "users and agents";
  if (start.users) return whose(Reach::kUser);
  return start.agents ? "agents, and for whom a grant names it" : "operators";
}

// Of an op that a subagent was told.
runtime::Done told(const Json& args) {
  return {.result = {{"ok", true}, {"handle", args["handle"]}}, .target = {{"subagent", args["handle"]}}};
}

std::unexpected<Error> no_such(std::string_view what) {
  return fail(Code::kTaskNotFound, fmt::format("there is no such {}, or it is not yours", what));
}

std::string context_of(const runtime::Sending& sending) {
  return sending.message.value("contextId", "ctx-" + random_hex(16));
}

void reply_document(const runtime::Sending& sending, Result<Json> document, runtime::Delivery delivery) {
  if (!document) return delivery.reply(std::unexpected(std::move(document.error())));
  Json message = {{"messageId", random_uuid()},
                  {"contextId", context_of(sending)},
                  {"role", "ROLE_AGENT"},
                  {"parts", Json::array({Json{{"data", *std::move(document)}, {"mediaType", "application/json"}}})},
                  {"extensions", Json::array({command_uri()})}};
  runtime::deliver_message(Json{{"message", std::move(message)}}, delivery);
}

// The same around a document that is text already, because it is large.
void reply_text(const runtime::Sending& sending, const std::string& document, runtime::Delivery delivery) {
  std::string text;
  text.reserve(document.size() + kEnvelopeBytes);
  ObjectWriter answer(text);
  answer.key("message");
  ObjectWriter message(text);
  message.text("messageId", random_uuid()).text("contextId", context_of(sending)).text("role", "ROLE_AGENT");
  message.key("parts");
  text += '[';
  ObjectWriter part(text);
  part.raw("data", document).text("mediaType", "application/json");
  part.close();
  text += ']';
  message.texts("extensions", {command_uri()});
  message.close();
  answer.close();
  runtime::deliver_message(JsonText(std::move(text)), delivery);
}

// Ends a run that the caller may see.
Status cancel(runtime::Runs& runs, const feed::Viewer& viewer, const std::string& run) {
  if (runs.working(viewer, run) == nullptr) {
    const auto ended = runs.find(viewer, run, false);
    if (!ended) return std::unexpected(ended.error());
    return fail(Code::kTaskNotCancelable, "the run has ended already");
  }
  runs.cancel(run);
  return {};
}

}  // namespace

Commands::Commands(CommandParts parts) : parts_(std::move(parts)) {
  for (const OpRow& row : ops()) {
    auto compiled = schema::compile(Json::parse(row.args));
    AGENTD_CHECK(compiled.has_value(), "the schema of an op compiles");
    args_.emplace(row.op, std::move(*compiled));
  }
}

Result<std::optional<Command>> Commands::read(const runtime::Call& call, const runtime::Sending& sending) const {
  const Json& message = sending.message;
  const std::vector<std::size_t> parts = command_parts(message);
  if (parts.empty()) return std::nullopt;
  const std::string field = fmt::format("message.parts[{}].data.{}", parts.front(), kDataKey);
  const Json& agentd = message["parts"][parts.front()]["data"][kDataKey];
  const std::string op =
      agentd.is_object() && agentd.value("op", Json()).is_string() ? agentd["op"].get<std::string>() : "";
  if (!call.active.has(a2a::Extension::kCommand)) {
    return refuse(Code::kCommandNotActivated, field,
                  fmt::format("activate commands with the header 'A2A-Extensions: {}'", command_uri()),
                  {{"extension", command_uri()}});
  }
  const Json marked = message.value("extensions", Json::array());
  if (std::ranges::find(marked, Json(command_uri())) == marked.end()) {
    return refuse(Code::kExtensionNotMarked, field, fmt::format("name {} in message.extensions", command_uri()),
                  {{"extension", command_uri()}});
  }
  if (parts.size() > 1)
    return refuse(Code::kCommandEnvelopeAmbiguous, field, "a message carries one command, not several");
  if (message.contains("taskId")) {
    return refuse(Code::kCommandTaskId, field, "a command makes its own task; send it without taskId", {{"op", op}});
  }
  if (!admits_json(sending.accepted_output_modes)) {
    return refuse(Code::kContentTypeNotSupported, field, "a command is answered in application/json; accept it");
  }
  auto command = read_args(agentd, field);
  if (!command) return std::unexpected(command.error());
  return std::move(*command);
}

Result<Command> Commands::read_args(const Json& agentd, const std::string& field) const {
  const std::string op =
      agentd.is_object() && agentd.value("op", Json()).is_string() ? agentd["op"].get<std::string>() : "";
  const OpRow* row = find_op(op);
  const runtime::Runs::Known* declared = row == nullptr ? find_declared(parts_.runs, op) : nullptr;
  const bool served = row == nullptr ? declared != nullptr : row->gate != Gate::kSignIn || parts_.sign_in.enabled();
  if (!served) {
    const std::string message = op.empty()
                                    ? "must be an object with the name of an op in 'op'"
                                    : fmt::format("{} is not an op of this daemon", quote_json(cut_text(op, 100)));
    return refuse(Code::kUnknownOp, field, message,
                  op.empty() ? std::vector<std::pair<std::string, std::string>>{}
                             : std::vector{std::pair<std::string, std::string>{"op", op}});
  }
  Json args = agentd;
  args.erase("op");
  const schema::Validator* schema = row == nullptr ? declared->args.get() : &args_.at(row->op);
  auto violations = schema == nullptr ? std::vector<FieldViolation>{} : schema->validate(args, field);
  if (!violations.empty()) {
    const std::string message = fmt::format("{} {}", violations.front().field, violations.front().description);
    return std::unexpected(Error{.code = Code::kInvalidCommandArgs,
                                 .message = message,
                                 .violations = std::move(violations),
                                 .metadata = {{"op", op}}});
  }
  std::string workflow;
  if (row == nullptr) {
    workflow = declared->workflow->name;
  } else if (row->op == Op::kWorkflowRun) {
    workflow = args["workflow"];
  }
  return Command{.op = op, .row = row, .workflow = std::move(workflow), .args = std::move(args), .field = field};
}

Status Commands::check_reach(const access::Caller& caller, const Command& command) const {
  const auto denied = [&](std::string message) {
    return std::unexpected(
        Error{.code = Code::kPermissionDenied, .message = std::move(message), .metadata = {{"op", command.op}}});
  };
  const auto is_for = [&](std::string_view who) { return denied(fmt::format("{} is for {}", command.op, who)); };
  if (command.row != nullptr) {
    if (!may_run(caller, *command.row)) return is_for(whose(command.row->reach));
  } else {
    const auto& start = *parts_.runs.workflows().at(command.workflow).workflow->command;
    if (!may_run(caller, start)) return is_for(whose(start));
  }
  if (command.workflow.empty() || access::may_run_workflow(caller, command.workflow)) return {};
  return denied(
      fmt::format("you may not run the workflow {}; an operator can grant it to you", quote_json(command.workflow)));
}

void Commands::send(const runtime::Call& call, const Json& params, runtime::Delivery delivery) {
  auto sending = runtime::read_sending(params);
  if (!sending) return delivery.reply(std::unexpected(sending.error()));
  auto read_command = read(call, *sending);
  if (!read_command) return delivery.reply(std::unexpected(read_command.error()));
  if (!*read_command) return parts_.service.send(call, std::move(*sending), std::move(delivery));
  Command& command = **read_command;
  const std::string op = command.op;
  if (const Status may = check_reach(call.caller, command); !may) {
    return parts_.service.refuse_op(call, op, target_of(command), may.error(), std::move(delivery));
  }
  if (!command.workflow.empty()) {
    return run_workflow(call, std::move(*sending), std::move(command), std::move(delivery));
  }
  if (command.row->gate == Gate::kIntrospection && !parts_.feed.introspection()) {
    return delivery.reply(std::unexpected(Error{.code = Code::kIntrospectionDisabled,
                                                .message = op + " needs introspection, which is off here "
                                                                "(a2a.introspection.enabled)",
                                                .metadata = {{"op", op}}}));
  }
  if (command.row->reply == ReplyKind::kMessage) {
    auto document = read_document(call, *sending, command, delivery);
    if (document) reply_document(*sending, *std::move(document), std::move(delivery));
    return;
  }
  // Its effect is within the turn that makes the task, so that both are durable together.
  parts_.service.complete(
      call, std::move(*sending), op,
      [&] {
        auto done = act(call.caller, command);
        if (!done) done = std::unexpected(of_args(std::move(done.error()), op));
        return done;
      },
      std::move(delivery));
}

std::optional<Result<Json>> Commands::read_document(const runtime::Call& call, const runtime::Sending& sending,
                                                    const Command& command, runtime::Delivery& delivery) {
  const feed::Viewer& viewer = call.caller.viewer;
  const Json& args = command.args;
  switch (command.row->op) {
    case Op::kStatus:
      reply_text(sending,
                 status_document({.feed = parts_.feed,
                                  .instance = parts_.instance,
                                  .runs = parts_.runs,
                                  .children = parts_.children,
                                  .conversations = parts_.conversations,
                                  .turns = parts_.turns,
                                  .subagents = parts_.subagents,
                                  .tools = parts_.tools,
                                  .skills = parts_.skills,
                                  .with_seq = parts_.with_seq},
                                 call.caller),
                 std::move(delivery));
      return std::nullopt;
    case Op::kConfig: return Json{{"config", config::effective(parts_.settings.now())}};
    case Op::kWorkflowStatus: return workflow_status(parts_.runs, viewer, args);
    case Op::kRunGet: return run_document(parts_.runs, viewer, args);
    case Op::kConversationGet:
      read_conversation(parts_.journal, parts_.conversations, parts_.turns, viewer, args,
                        [sending, delivery = std::move(delivery)](Result<Json> document) mutable {
                          reply_document(sending, std::move(document), std::move(delivery));
                        });
      return std::nullopt;
    case Op::kPlanGet: return no_such("plan");
    case Op::kSubagentStatus: return subagent_status(parts_.subagents, viewer, args);
    case Op::kSubagentGet: return subagent_document(parts_.subagents, viewer, args);
    case Op::kDebugEvents: return log_document(args);
    case Op::kDevicePending: return parts_.sign_in.pending();
    case Op::kSessions: return parts_.sign_in.sessions();
    default: return fail(Code::kInternal, "this op reads nothing");
  }
}

Result<runtime::Done> Commands::act(const access::Caller& caller, const Command& command) {
  const feed::Viewer& viewer = caller.viewer;
  const Json& args = command.args;
  switch (command.row->op) {
    case Op::kWorkflowCancel:
      if (const Status done = cancel(parts_.runs, viewer, args["run"]); !done) return std::unexpected(done.error());
      return runtime::Done{.result = nullptr, .target = {{"run", args["run"]}}};
    case Op::kAdminCancel:
      if (const Status done = cancel(parts_.runs, viewer, args["run"]); !done) return std::unexpected(done.error());
      return runtime::Done{.result = {{"ok", true}, {"cancelled", args["run"]}}, .target = {{"run", args["run"]}}};
    case Op::kWorkflowSignal:
      if (args.contains("run") && parts_.runs.working(viewer, args["run"]) == nullptr) return no_such("run");
      return runtime::Done{.result = {{"signal", args["name"]}, {"delivered", 0}},
                           .target = {{"signal", args["name"]}}};
    case Op::kSubagentSend:
      if (const Status sent = parts_.subagents.send(viewer, args["handle"], args["message"]); !sent) {
        return std::unexpected(sent.error());
      }
      return told(args);
    case Op::kSubagentKill:
      if (const Status killed = parts_.subagents.kill(viewer, args["handle"], args.value("reason", kDefaultReason));
          !killed) {
        return std::unexpected(killed.error());
      }
      return told(args);
    case Op::kAdminPause: return pause(args);
    case Op::kAdminResume: return resume(args);
    case Op::kAdminDrain: return drain(args);
    case Op::kAdminSet: return parts_.settings.set(args, command.field);
    case Op::kDeviceApprove: return parts_.sign_in.approve(args, viewer.principal, command.field);
    case Op::kDeviceDeny: return parts_.sign_in.deny(args, command.field);
    case Op::kSessionsRevoke: return parts_.sign_in.revoke(args);
    default: return fail(Code::kInternal, "this op changes nothing");
  }
}

Result<runtime::Done> Commands::pause(const Json& args) {
  const std::string reason = args.value("reason", kDefaultReason);
  if (!args.contains("run")) {
    parts_.instance.pause(reason);
    return runtime::Done{.result = {{"ok", true}, {"state", "paused"}, {"reason", reason}}, .target = Json::object()};
  }
  const std::string run = args["run"];
  if (parts_.runs.working(kEverything, run) == nullptr) return no_such("run");
  parts_.runs.pause(run);
  return runtime::Done{.result = {{"ok", true}, {"paused", run}}, .target = {{"run", run}}};
}

Result<runtime::Done> Commands::resume(const Json& args) {
  if (args.contains("run")) {
    const std::string run = args["run"];
    if (parts_.runs.working(kEverything, run) == nullptr) return no_such("run");
    parts_.runs.unpause(run);
    return runtime::Done{.result = {{"ok", true}, {"resumed", run}}, .target = {{"run", run}}};
  }
  if (parts_.instance.unpause()) {
    parts_.runs.go_on();
    parts_.turns.go_on();
    parts_.subagents.go_on();
  }
  return runtime::Done{.result = {{"ok", true}, {"state", "running"}}, .target = Json::object()};
}

Result<runtime::Done> Commands::drain(const Json& args) {
  const std::string reason = args.value("reason", kDefaultReason);
  parts_.drain(reason);
  return runtime::Done{.result = {{"ok", true}, {"state", "draining"}, {"reason", reason}}, .target = Json::object()};
}

Result<Json> Commands::decide(const access::Caller& who, const Json& agentd) {
  auto command = read_args(agentd, "form");
  if (!command) return std::unexpected(std::move(command.error()));
  AGENTD_CHECK(
      command->row != nullptr && (command->row->op == Op::kDeviceApprove || command->row->op == Op::kDeviceDeny),
      "an op that answers a sign-in");
  return parts_.service.perform(who, command->op, [&]() -> Result<runtime::Done> {
    if (const Status may = check_reach(who, *command); !may) return std::unexpected(may.error());
    return act(who, *command);
  });
}

Json Commands::target_of(const Command& command) const {
  return parts_.runs.workflows().contains(command.workflow) ? Json{{"workflow", command.workflow}} : Json();
}

void Commands::run_workflow(const runtime::Call& call, runtime::Sending sending, Command command,
                            runtime::Delivery delivery) {
  const bool declared = command.row == nullptr;
  Json inputs = declared ? std::move(command.args) : command.args.value("inputs", Json::object());
  const Status right = parts_.runs.check(command.workflow, inputs, command.field + ".workflow",
                                         declared ? command.field : command.field + ".inputs");
  if (!right) {
    return parts_.service.refuse_op(call, command.op, target_of(command), of_args(right.error(), command.op),
                                    std::move(delivery));
  }
  parts_.service.run_workflow(call, std::move(sending), command.op, command.workflow, std::move(inputs),
                              std::move(delivery));
}

}  // namespace agentd::command
