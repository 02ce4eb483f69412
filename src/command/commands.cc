#include "command/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace agentd::command {
namespace {

constexpr char kDataKey[] = "agentd";

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
Error of_args(Error error, const OpRow& row) {
  if (error.code != Code::kInvalidParams) return error;
  error.code = Code::kInvalidCommandArgs;
  error.metadata = {{"op", std::string(row.name)}};
  return error;
}

// kPermissionDenied, unless the caller may run it.
Status check_reach(const access::Caller& caller, const Command& command) {
  const std::string op(command.row->name);
  Error error{.code = Code::kPermissionDenied, .message = op + " is for operators", .metadata = {{"op", op}}};
  if (!may_run(caller, *command.row)) return std::unexpected(std::move(error));
  if (command.row->op != Op::kWorkflowRun) return {};
  const auto& workflow = command.args["workflow"].get_ref<const std::string&>();
  if (access::may_run_workflow(caller, workflow)) return {};
  error.message = "you may not run the workflow " + quote_json(workflow);
  return std::unexpected(std::move(error));
}

}  // namespace

Commands::Commands(runtime::Service& service, runtime::Runs& runs, runtime::SignIn& sign_in,
                   runtime::Settings& settings, std::function<Json(const feed::Viewer&)> status)
    : service_(service), runs_(runs), sign_in_(sign_in), settings_(settings), status_(std::move(status)) {
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
  if (row == nullptr || (row->gate == Gate::kSignIn && !sign_in_.enabled())) {
    const std::string message = op.empty()
                                    ? "must be an object with the name of an op in 'op'"
                                    : fmt::format("{} is not an op of this daemon", quote_json(cut_text(op, 100)));
    return refuse(Code::kUnknownOp, field, message,
                  op.empty() ? std::vector<std::pair<std::string, std::string>>{}
                             : std::vector{std::pair<std::string, std::string>{"op", op}});
  }
  Json args = agentd;
  args.erase("op");
  auto violations = args_.at(row->op).validate(args, field);
  if (!violations.empty()) {
    const std::string message = fmt::format("{} {}", violations.front().field, violations.front().description);
    return std::unexpected(Error{.code = Code::kInvalidCommandArgs,
                                 .message = message,
                                 .violations = std::move(violations),
                                 .metadata = {{"op", op}}});
  }
  return Command{.row = row, .args = std::move(args), .field = field};
}

void Commands::send(const runtime::Call& call, const Json& params, runtime::Delivery delivery) {
  auto sending = runtime::read_sending(params);
  if (!sending) return delivery.reply(std::unexpected(sending.error()));
  auto command = read(call, *sending);
  if (!command) return delivery.reply(std::unexpected(command.error()));
  if (!*command) return service_.send(call, std::move(*sending), std::move(delivery));
  Command& it = **command;
  const OpRow& row = *it.row;
  if (const Status may = check_reach(call.caller, it); !may) {
    return service_.refuse_op(call, std::string(row.name), target_of(it), may.error(), std::move(delivery));
  }
  // Its effect is within the turn that makes the task, so that both are durable together.
  const auto complete = [&](std::move_only_function<Result<runtime::Done>()> act) {
    service_.complete(
        call, std::move(*sending), std::string(row.name),
        [&row, act = std::move(act)]() mutable {
          auto result = act();
          if (!result) result = std::unexpected(of_args(std::move(result.error()), row));
          return result;
        },
        std::move(delivery));
  };
  switch (row.op) {
    case Op::kStatus: return reply_document(*sending, status_(call.caller.viewer), std::move(delivery));
    case Op::kConfig:
      return reply_document(*sending, {{"config", config::effective(settings_.now())}}, std::move(delivery));
    case Op::kAdminSet: return complete([&] { return settings_.set(it.args, it.field); });
    case Op::kWorkflowRun: return run_workflow(call, std::move(*sending), std::move(it), std::move(delivery));
    case Op::kDevicePending: return reply_document(*sending, sign_in_.pending(), std::move(delivery));
    case Op::kDeviceApprove:
      return complete([&] { return sign_in_.approve(it.args, call.caller.viewer.principal, it.field); });
    case Op::kDeviceDeny: return complete([&] { return sign_in_.deny(it.args, it.field); });
    case Op::kSessions: return reply_document(*sending, sign_in_.sessions(), std::move(delivery));
    case Op::kSessionsRevoke: return complete([&] { return sign_in_.revoke(it.args); });
  }
}

Json Commands::target_of(const Command& command) const {
  if (command.row->op != Op::kWorkflowRun) return nullptr;
  const Json& workflow = command.args["workflow"];
  return runs_.workflows().contains(workflow) ? Json{{"workflow", workflow}} : Json();
}

void Commands::run_workflow(const runtime::Call& call, runtime::Sending sending, Command command,
                            runtime::Delivery delivery) {
  const std::string workflow = command.args["workflow"];
  Json inputs = command.args.value("inputs", Json::object());
  if (const Status right = runs_.check(workflow, inputs, command.field); !right) {
    return service_.refuse_op(call, std::string(command.row->name), target_of(command),
                              of_args(right.error(), *command.row), std::move(delivery));
  }
  service_.run_workflow(call, std::move(sending), std::string(command.row->name), workflow, std::move(inputs),
                        std::move(delivery));
}

void Commands::reply_document(const runtime::Sending& sending, Json document, runtime::Delivery delivery) {
  Json message = {{"messageId", random_uuid()},
                  {"contextId", sending.message.value("contextId", "ctx-" + random_hex(16))},
                  {"role", "ROLE_AGENT"},
                  {"parts", Json::array({Json{{"data", std::move(document)}, {"mediaType", "application/json"}}})},
                  {"extensions", Json::array({command_uri()})}};
  runtime::deliver_message(std::move(message), delivery);
}

}  // namespace agentd::command
