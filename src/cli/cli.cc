#include "cli/cli.h"

#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/demo.h"
#include "cli/exit.h"
#include "cli/interrupts.h"
#include "cli/output.h"

namespace agentd::cli {
namespace {

// One overload per alternative of Parsed.
class Dispatch final {
 public:
  explicit Dispatch(const Commands& commands) : commands_(commands) {}

  int operator()(const Said& said) {
    (said.exit == kOk ? out_ : err_).text(said.text);
    return said.exit;
  }
  int operator()(const ServeOptions& options) { return commands_.serve(options); }
  int operator()(const CheckOptions& options) { return commands_.check(options); }
  int operator()(const ExtensionSchemaOptions& options) { return commands_.extension_schema(options.name); }
  int operator()(const ConfigSchemaOptions&) { return commands_.config_schema(); }
  int operator()(const SendOptions& options) {
    return with_console([&](Console console) { return run_send(options, console); });
  }
  int operator()(const TasksOptions& options) {
    return with_console([&](Console console) { return run_tasks(options, console); });
  }
  int operator()(const TaskOptions& options) {
    return with_console([&](Console console) { return run_task(options, console); });
  }
  int operator()(const EventsOptions& options) {
    return with_console([&](Console console) { return run_events(options, console); });
  }
  int operator()(const ViewOptions& options) {
    return with_console([&](Console console) { return run_view(options, console); });
  }
  int operator()(const AdminOptions& options) {
    return with_console([&](Console console) { return run_admin(options, console); });
  }
  int operator()(const CompletionOptions& options) {
    return with_console([&](Console console) { return run_completion(options, console); });
  }
  int operator()(const CompleteOptions& options) {
    return with_console([&](Console console) { return run_complete(options, console); });
  }
  int operator()(const LoginOptions& options) {
    return with_console([&](Console console) { return run_login(options, console, SystemClock()); });
  }
  int operator()(const LogoutOptions& options) {
    return with_console([&](Console console) { return run_logout(options, console); });
  }
  int operator()(const DevicesOptions& options) {
    return with_console([&](Console console) { return run_devices(options, console); });
  }
  int operator()(const SessionsOptions& options) {
    return with_console([&](Console console) { return run_sessions(options, console); });
  }
  int operator()(const DemoOptions& options) {
    return with_console([&](Console console) { return run_demo(options, console, "/proc/self/exe"); });
  }

 private:
  template <class Command>
  int with_console(const Command& command) {
    client::Stop stop;
    const Interrupts interrupts(stop);
    return command(Console{.out = out_, .err = err_, .stop = stop, .credentials = credentials_});
  }

  const Commands& commands_;
  Output out_{STDOUT_FILENO};
  Output err_{STDERR_FILENO};
  client::Credentials credentials_{client::credentials_path()};
};

}  // namespace

int run_cli(int argc, char** argv, const Commands& commands) {
  return std::visit(Dispatch(commands), parse_command_line({argv + (argc > 0 ? 1 : 0), argv + argc}));
}

}  // namespace agentd::cli
