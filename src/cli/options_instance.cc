// The command lines of those that are about the instance as a whole: status, ps, config, pause, resume, drain, set; and
// that of completion.
#include <fmt/format.h>

#include "cli/grammar.h"
#include "cli/options_rows.h"
#include "cli/printable.h"

namespace agentd::cli {
namespace {

using View = ViewOptions::View;
using Verb = AdminOptions::Verb;

Parsed parse_view(View view, const char* command, const Help& help, const char* json, CommandLine line) {
  ViewOptions options{.view = view};
  Grammar grammar(command, help);
  grammar.add_daemon(options.daemon);
  grammar.app().add_flag("--json", options.json, json);
  const auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  return options;
}

// What an admin command may be given beside the daemon.
struct AdminRow {
  Verb verb;
  const char* command;
  const Help& help;
  bool run = false;
  bool reason = false;
  bool setting = false;
};

Parsed parse_admin(const AdminRow& row, CommandLine line) {
  AdminOptions options{.verb = row.verb};
  Grammar grammar(row.command, row.help);
  grammar.add_daemon(options.daemon);
  if (row.run) {
    grammar.app().add_option("--run", options.run, "This run, and not all of the instance");
    grammar.offer("--run", {.ids = Ids::kRuns});
  }
  if (row.reason) grammar.app().add_option("--reason", options.reason, "Why, for those who watch");
  if (row.setting) {
    grammar.offer_word({.words = {"a2a.introspection.enabled"}});
    grammar.offer_word({.words = {"true", "false"}});
  }
  grammar.app().add_flag("--json", options.json, "The result as JSON");
  auto rest = grammar.parse(std::move(line), 0, row.setting ? 2 : 0);
  if (!rest) return rest.error();
  if (!row.setting) return options;
  if (rest->size() < 2) return fault(row.command, "it takes what to set, and to what: PATH VALUE");
  options.path = std::move((*rest)[0]);
  options.value = std::move((*rest)[1]);
  return options;
}

}  // namespace

Parsed parse_status(CommandLine line) {
  return parse_view(View::kStatus, "status", kStatusHelp, "The status document as JSON", std::move(line));
}
Parsed parse_ps(CommandLine line) {
  return parse_view(View::kWork, "ps", kPsHelp, "The tree as JSON", std::move(line));
}
Parsed parse_config(CommandLine line) {
  return parse_view(View::kConfig, "config", kConfigHelp, "On one line", std::move(line));
}
Parsed parse_pause(CommandLine line) {
  return parse_admin({.verb = Verb::kPause, .command = "pause", .help = kPauseHelp, .run = true, .reason = true},
                     std::move(line));
}
Parsed parse_resume(CommandLine line) {
  return parse_admin({.verb = Verb::kResume, .command = "resume", .help = kResumeHelp, .run = true}, std::move(line));
}
Parsed parse_drain(CommandLine line) {
  return parse_admin({.verb = Verb::kDrain, .command = "drain", .help = kDrainHelp, .reason = true}, std::move(line));
}
Parsed parse_set(CommandLine line) {
  return parse_admin({.verb = Verb::kSet, .command = "set", .help = kSetHelp, .setting = true}, std::move(line));
}

Parsed parse_completion(CommandLine line) {
  Grammar grammar("completion", kCompletionHelp);
  const Words shells = {"bash", "zsh"};
  grammar.offer_word({.words = shells});
  const auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (rest->empty()) return fault("completion", "the name of the shell is missing: bash or zsh");
  const std::string& shell = rest->front();
  if (std::ranges::find(shells, shell) == shells.end()) {
    return fault("completion",
                 fmt::format("no script for '{}': there is one for bash and one for zsh", one_line(shell)));
  }
  return CompletionOptions{.shell = shell};
}

}  // namespace agentd::cli
