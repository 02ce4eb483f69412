#include <fmt/format.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/paint.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

void say_what_to_do(const LoginOptions& options, const client::DeviceCode& code, Output& err) {
  // Its letters, digits and dashes are safe in a terminal and in a shell.
  err.text(fmt::format("agentd: to sign in to {}, have an operator approve this code:\n\n    {}\n\n",
                       one_line(options.daemon.url), paint(code.user_code, Ink::kGreen, err.style().colour)));
  err.line(fmt::format("  on the daemon's machine:  agentd devices approve {} --as NAME", code.user_code));
  if (!code.verification_uri.empty()) {
    err.line(fmt::format("  or see:                   {}", one_line(code.verification_uri)));
  }
  err.line(
      fmt::format("\nagentd: waiting; the code is good for {}, and Ctrl-C gives up", age_text(code.expires_s * 1000)));
}

}  // namespace

int run_login(const LoginOptions& options, Console console, const Clock& clock, client::GrantSeams seams) {
  const client::Endpoint& endpoint = options.daemon;
  // A file that cannot be used is better known before somebody approves.
  if (const auto kept = console.credentials.find(options.daemon.url); !kept)
    return report(kept.error(), endpoint, console);
  const client::DeviceGrant device(endpoint, options.client_id, console.stop, clock, std::move(seams));
  const auto code = device.ask(options.scope);
  if (!code) return report(code.error(), endpoint, console);
  say_what_to_do(options, *code, console.err);
  const auto grant = device.wait(*code, [&](std::string_view why, std::int64_t delay_ms) {
    console.err.line(
        fmt::format("agentd: {}; trying again in {:.1f} s", one_line(why), static_cast<double>(delay_ms) / 1000));
  });
  if (!grant) return report(grant.error(), endpoint, console);
  if (const auto kept = console.credentials.keep(options.daemon.url, grant->token); !kept) {
    // Nobody has the token, so nobody shall be signed in; if that fails too, the session expires.
    [[maybe_unused]] const auto revoked = client::revoke_token(endpoint, grant->token, console.stop);
    return report(kept.error(), endpoint, console);
  }
  console.err.line(fmt::format("agentd: signed in to {} with scope {} for {}; the token is in {}",
                               one_line(options.daemon.url), one_line(grant->scope), age_text(grant->expires_s * 1000),
                               one_line(console.credentials.path())));
  return kOk;
}

int run_logout(const LogoutOptions& options, Console console) {
  const client::Endpoint& endpoint = options.daemon;
  const auto kept = console.credentials.find(options.daemon.url);
  if (!kept) return report(kept.error(), endpoint, console);
  if (kept->token.empty()) {
    console.err.line(fmt::format("agentd: not signed in to {}", one_line(options.daemon.url)));
    return kOk;
  }
  const auto revoked = client::revoke_token(endpoint, kept->token, console.stop);
  if (console.stop.requested()) return kInterrupted;
  if (const auto forgotten = console.credentials.forget(options.daemon.url); !forgotten) {
    return report(forgotten.error(), endpoint, console);
  }
  if (!revoked) {
    console.err.line(
        "agentd: the token is forgotten here, but its session goes on until it expires or an operator ends it "
        "('agentd sessions revoke')");
    return report(revoked.error(), endpoint, console);
  }
  console.err.line(fmt::format("agentd: signed out of {}", one_line(options.daemon.url)));
  return kOk;
}

}  // namespace agentd::cli
