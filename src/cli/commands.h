// The commands that talk to a daemon. Each gives the exit code (exit.h), and does its waiting where Ctrl-C
// ends it.
#pragma once

#include "cli/options.h"
#include "cli/output.h"
#include "client/device_grant.h"

namespace agentd::cli {

[[nodiscard]] int run_send(const SendOptions& options, Console console);
[[nodiscard]] int run_tasks(const TasksOptions& options, Console console);
[[nodiscard]] int run_task(const TaskOptions& options, Console console);
[[nodiscard]] int run_events(const EventsOptions& options, Console console);
[[nodiscard]] int run_view(const ViewOptions& options, Console console);
[[nodiscard]] int run_admin(const AdminOptions& options, Console console);
[[nodiscard]] int run_completion(const CompletionOptions& options, Console console);
[[nodiscard]] int run_complete(const CompleteOptions& options, Console console);
[[nodiscard]] int run_login(const LoginOptions& options, Console console, const Clock& clock,
                            client::GrantSeams seams = {});
[[nodiscard]] int run_logout(const LogoutOptions& options, Console console);
[[nodiscard]] int run_devices(const DevicesOptions& options, Console console);
[[nodiscard]] int run_sessions(const SessionsOptions& options, Console console);

}  // namespace agentd::cli
