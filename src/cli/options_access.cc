// The command lines of those that are about who may come in: login, logout, devices, sessions.
#include <fmt/format.h>

#include <optional>

#include "cli/grammar.h"
#include "cli/options_rows.h"
#include "cli/printable.h"

namespace agentd::cli {
namespace {

const Candidates kScopes{.words = {"user", "operator"}};

// What is wrong with a scope, or nothing.
std::optional<Said> scope_fault(std::string_view command, const std::string& scope) {
  if (scope.empty() || scope == "user" || scope == "operator") return std::nullopt;
  return fault(command, fmt::format("no scope '{}': it is user or operator", one_line(scope)));
}

constexpr const char* kRowsAsJson = "One on each line, as JSON";
constexpr const char* kResultAsJson = "The result as JSON";

Parsed parse_approve(CommandLine line) {
  DevicesOptions options{.verb = DevicesOptions::Verb::kApprove};
  Grammar grammar("devices approve", kDevicesApproveHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_option("--as", options.as, "Whose sign-in it is: a name of a-z, 0-9, '.', '_', '-'");
  grammar.app().add_option("--scope", options.scope,
                           "Grant no more than this: user or operator (default: what was asked for)");
  grammar.offer("--scope", kScopes);
  grammar.offer_word({.ids = Ids::kUserCodes});
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (rest->empty()) return fault("devices approve", "the code is missing");
  if (options.as.empty()) return fault("devices approve", "whose sign-in it is is missing: --as NAME");
  if (auto wrong = scope_fault("devices approve", options.scope)) return *wrong;
  options.code = std::move((*rest)[0]);
  return options;
}

Parsed parse_deny(CommandLine line) {
  DevicesOptions options{.verb = DevicesOptions::Verb::kDeny};
  Grammar grammar("devices deny", kDevicesDenyHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_flag("--all", options.all, "Every sign-in that waits");
  grammar.offer_word({.ids = Ids::kUserCodes});
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (rest->empty() != options.all) return fault("devices deny", "either the code or --all is needed");
  if (!rest->empty()) options.code = std::move((*rest)[0]);
  return options;
}

// Of a command that lists, when it is given no verb.
template <class Options>
Parsed parse_list(std::string_view command, const Help& help, CommandLine line) {
  Options options;
  Grammar grammar(command, help);
  grammar.add_daemon(options.daemon);
  grammar.app().add_flag("--json", options.json, kRowsAsJson);
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  return options;
}

Parsed parse_revoke(CommandLine line) {
  SessionsOptions options{.verb = SessionsOptions::Verb::kRevoke};
  Grammar grammar("sessions revoke", kSessionsRevokeHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_option("--name", options.name, "Every session of this name");
  grammar.offer("--name", {.ids = Ids::kSessionNames});
  grammar.offer_word({.ids = Ids::kSessions});
  grammar.app().add_flag("--all", options.all, "Every session");
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if ((rest->empty() ? 0 : 1) + (options.name.empty() ? 0 : 1) + (options.all ? 1 : 0) != 1) {
    return fault("sessions revoke", "one of SID, --name NAME and --all is needed");
  }
  if (!rest->empty()) options.sid = std::move((*rest)[0]);
  return options;
}

}  // namespace

Parsed parse_login(CommandLine line) {
  LoginOptions options;
  Grammar grammar("login", kLoginHelp);
  grammar.add_url(options.daemon);
  grammar.app().add_option("--scope", options.scope, "What to ask for: user (default) or operator");
  grammar.app().add_option("--client-id", options.client_id,
                           "What to be called until it is approved (default agentd-cli)");
  grammar.offer("--scope", kScopes);
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  if (auto wrong = scope_fault("login", options.scope)) return *wrong;
  return options;
}

Parsed parse_logout(CommandLine line) {
  LogoutOptions options;
  Grammar grammar("logout", kLogoutHelp);
  grammar.add_url(options.daemon);
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  return options;
}

Parsed parse_devices(CommandLine line) {
  static constexpr CommandRow kVerbs[] = {{"approve", parse_approve}, {"deny", parse_deny}};
  return has_verb(line) ? parse_by(kVerbs, "devices", std::move(line))
                        : parse_list<DevicesOptions>("devices", kDevicesHelp, std::move(line));
}

Parsed parse_sessions(CommandLine line) {
  static constexpr CommandRow kVerbs[] = {{"revoke", parse_revoke}};
  return has_verb(line) ? parse_by(kVerbs, "sessions", std::move(line))
                        : parse_list<SessionsOptions>("sessions", kSessionsHelp, std::move(line));
}

}  // namespace agentd::cli
