// `agentd status`, `ps` and `config`, which look at the instance as a whole, and `pause`, `resume`, `drain` and `set`, which
// change it.
#include <fmt/format.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/op.h"
#include "cli/printable.h"
#include "cli/render_instance.h"
#include "client/launch.h"

namespace agentd::cli {
namespace {

using View = ViewOptions::View;
using Verb = AdminOptions::Verb;

Json command_of(const ViewOptions& options) { return {{"op", options.view == View::kConfig ? "config" : "status"}}; }

Json command_of(const AdminOptions& options) {
  Json command = Json::object();
  switch (options.verb) {
    case Verb::kPause: command["op"] = "admin.pause"; break;
    case Verb::kResume: command["op"] = "admin.resume"; break;
    case Verb::kDrain: command["op"] = "admin.drain"; break;
    case Verb::kSet: {
      const auto value = parse_json(options.value);
      return {{"op", "admin.set"}, {"path", options.path}, {"value", value ? *value : Json(options.value)}};
    }
  }
  if (!options.run.empty()) command["run"] = options.run;
  if (!options.reason.empty()) command["reason"] = options.reason;
  return command;
}

// Indented, and of ASCII alone, so that it is JSON in a file and harmless in a terminal.
std::string indented(const Json& value) { return value.dump(2, ' ', true, Json::error_handler_t::replace); }

std::string shown(const ViewOptions& options, const Json& document, const Style& style) {
  const std::int64_t now_ms = SystemClock().wall_ms();
  switch (options.view) {
    case View::kStatus: return options.json ? dump_json(document) + "\n" : render_status(document, now_ms, style);
    case View::kWork: {
      const Json tree = work_tree(document);
      return options.json ? dump_json(tree) + "\n" : render_work(tree, now_ms, style);
    }
    case View::kConfig: {
      const Json& config = member(document, "config");
      return (options.json ? dump_json(config) : indented(config)) + "\n";
    }
  }
  return {};
}

std::string words_for(const AdminOptions& options, const Json& result) {
  const std::string run = one_line(options.run);
  switch (options.verb) {
    case Verb::kPause:
      return run.empty() ? "paused: nothing starts until 'agentd resume'"
                         : fmt::format("{} is paused, until 'agentd resume --run {}'", run, run);
    case Verb::kResume: return run.empty() ? "resumed" : fmt::format("{} is resumed", run);
    case Verb::kDrain:
      return "draining: no more work is taken; the daemon ends when its work has ended, in 10 minutes at the latest";
    case Verb::kSet:
      return fmt::format("{} is {} until the next reload", one_line(text_of(result, "path")),
                         one_line(dump_json(member(result, "value"))));
  }
  return {};
}

std::string shown(const AdminOptions& options, const Json& result, const Style&) {
  return (options.json ? dump_json(result) : words_for(options, result)) + "\n";
}

template <class Options>
int run(const Options& options, Console console) {
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  const auto document = run_op(client::Rpc(*endpoint, console.stop), command_of(options));
  if (!document) return report(document.error(), *endpoint, console);
  console.out.text(shown(options, *document, console.out.style()));
  return kOk;
}

}  // namespace

int run_view(const ViewOptions& options, Console console) { return run(options, console); }

int run_admin(const AdminOptions& options, Console console) { return run(options, console); }

}  // namespace agentd::cli
