// `agentd devices` and `agentd sessions`: who asks for access, and who has it.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/op.h"
#include "cli/printable.h"
#include "cli/render_access.h"
#include "client/launch.h"

namespace agentd::cli {
namespace {

// The array `key` of a document.
int show_list(const Json& document, const char* key, bool json, Console console,
              std::string (*render)(const Json& list, std::int64_t now_ms)) {
  const Json& list = member(document, key);
  if (!list.is_array()) {
    return report({.code = Code::kParse, .message = "the daemon's answer holds no list"}, {}, console);
  }
  if (!json) console.out.text(render(list, SystemClock().wall_ms()));
  for (const auto& one : list) {
    if (json) console.out.line(dump_json(one));
  }
  return kOk;
}

// "2 sessions revoked", of {"revoked": 2}. That nothing was there is a failure when it was asked for by name.
template <class Options>
int show_count(const Options& options, const Json& document, const char* done, std::string_view what, Console console) {
  const auto count = count_of(document, done);
  console.out.line(options.json ? dump_json(document)
                                : fmt::format("{} {}{} {}", count, what, count == 1 ? "" : "s", done));
  return count == 0 && !options.all ? kFailure : kOk;
}

int show_approved(const Json& document, bool json, Console console) {
  const Json& approved = member(document, "approved");
  const std::string principal = one_line(text_of(approved, "principal"));
  console.out.line(json ? dump_json(document)
                        : fmt::format("{} is approved as {} with scope {}, for {} at {}",
                                      one_line(text_of(approved, "user_code")), principal,
                                      one_line(text_of(approved, "scope")), one_line(text_of(approved, "client_id")),
                                      one_line(text_of(approved, "peer"))));
  if (flag_of(approved, "existing")) {
    console.err.line(fmt::format("agentd: {} was there before: this sign-in sees all that is theirs", principal));
  }
  return kOk;
}

Json command_of(const DevicesOptions& options) {
  switch (options.verb) {
    case DevicesOptions::Verb::kList: break;
    case DevicesOptions::Verb::kApprove: {
      Json command = {{"op", "auth.device.approve"}, {"user_code", options.code}, {"as", options.as}};
      if (!options.scope.empty()) command["scope"] = options.scope;
      return command;
    }
    case DevicesOptions::Verb::kDeny:
      if (options.all) return {{"op", "auth.device.deny"}, {"all", true}};
      return {{"op", "auth.device.deny"}, {"user_code", options.code}};
  }
  return {{"op", "auth.device.pending"}};
}

Json command_of(const SessionsOptions& options) {
  if (options.verb == SessionsOptions::Verb::kList) return {{"op", "auth.sessions"}};
  Json command = {{"op", "auth.sessions.revoke"}};
  if (options.all) {
    command["all"] = true;
  } else if (!options.name.empty()) {
    command["name"] = options.name;
  } else {
    command["sid"] = options.sid;
  }
  return command;
}

int show(const DevicesOptions& options, const Json& document, Console console) {
  switch (options.verb) {
    case DevicesOptions::Verb::kList: break;
    case DevicesOptions::Verb::kApprove: return show_approved(document, options.json, console);
    case DevicesOptions::Verb::kDeny: return show_count(options, document, "denied", "sign-in", console);
  }
  return show_list(document, "pending", options.json, console, render_devices);
}

int show(const SessionsOptions& options, const Json& document, Console console) {
  if (options.verb == SessionsOptions::Verb::kList) {
    return show_list(document, "sessions", options.json, console, render_sessions);
  }
  return show_count(options, document, "revoked", "session", console);
}

template <class Options>
int run(const Options& options, Console console) {
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  auto document = run_op(client::Rpc(*endpoint, console.stop), command_of(options));
  if (!document) {
    Error& error = document.error();
    if (error.code == Code::kUnknownOp) error.message += "; device sign-in is off there (a2a.device_grant.enabled)";
    return report(error, *endpoint, console);
  }
  return show(options, *document, console);
}

}  // namespace

int run_devices(const DevicesOptions& options, Console console) { return run(options, console); }

int run_sessions(const SessionsOptions& options, Console console) { return run(options, console); }

}  // namespace agentd::cli
