#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/time_text.h"
#include "base/version.h"
#include "cli/exit.h"
#include "cli/grammar.h"
#include "cli/help.h"
#include "cli/options_rows.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

void add_config(Grammar& grammar, std::string& file) {
  grammar.app()
      .add_option("-c,--config", file, "The configuration file, YAML or JSON (default AGENTD_CONFIG)")
      ->envname("AGENTD_CONFIG");
}

Parsed parse_serve(CommandLine line) {
  ServeOptions options;
  Grammar grammar("serve", kServeHelp);
  add_config(grammar, options.config);
  grammar.app()
      .add_option("--edges", options.edges, "Threads that serve connections, 1 to 64 (default: the cores, at most 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 64).description(""));
  grammar.app().add_flag("--no-io-uring", options.no_io_uring,
                         "Send by a system call for each stream, not by io_uring");
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  return options;
}

Parsed parse_check(CommandLine line) {
  CheckOptions options;
  std::string output = "text";
  Grammar grammar("check", kCheckHelp);
  add_config(grammar, options.config);
  grammar.app().add_option("--output", output, "How to say it: text (default) or json");
  grammar.offer("--output", {.words = {"text", "json"}});
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (output != "text" && output != "json") return fault("check", "--output is text or json");
  options.json = output == "json";
  if (!rest->empty()) options.config = std::move((*rest)[0]);
  return options;
}

Parsed parse_send(CommandLine line) {
  SendOptions options;
  std::string timeout = "10m";
  bool no_wait = false;
  Grammar grammar("send", kSendHelp);
  auto& app = grammar.app();
  grammar.add_daemon(options.daemon);
  app.add_option("--context", options.context, "The conversation (default root)");
  grammar.offer("--context", {.ids = Ids::kContexts});
  app.add_option("--task", options.task, "Answer or add to this task");
  grammar.offer("--task", {.ids = Ids::kTasks});
  app.add_option("--workflow", options.workflow, "Run this workflow instead of asking the agent");
  grammar.offer("--workflow", {.ids = Ids::kWorkflows});
  app.add_option("--input", options.inputs, "An input of the workflow: name=text or name:=json")
      ->allow_extra_args(false);
  app.add_option("--out", options.out, "Write the artifacts into this folder");
  app.add_option("--timeout", timeout, "Give up waiting after this long (default 10m)");
  app.add_flag("--stream,!--no-stream", options.stream, "Show progress as it comes (default), or the end only");
  app.add_flag("--no-wait", no_wait, "Return as soon as there is a task");
  app.add_flag("--json", options.json, "The daemon's answers as JSON, one a line");
  auto rest = grammar.parse(std::move(line), 0, SIZE_MAX);
  if (!rest) return rest.error();

  for (const auto& word : *rest) options.text += (options.text.empty() ? "" : " ") + word;
  options.wait = !no_wait;
  if (options.text.empty() && options.workflow.empty())
    return fault("send", "there is no text to send ('-' reads stdin)");
  if (!options.inputs.empty() && options.workflow.empty()) return fault("send", "--input goes with --workflow");
  if (!options.task.empty() && !options.workflow.empty())
    return fault("send", "--workflow starts a task of its own: leave out --task");
  const auto limit = parse_duration(timeout);
  if (!limit || *limit <= 0)
    return fault("send", fmt::format("--timeout '{}' is not a duration such as 30s or 10m", one_line(timeout)));
  options.timeout_ms = *limit;
  return options;
}

const std::vector<std::string> kStates = {"submitted", "working",        "completed", "failed",
                                          "canceled",  "input-required", "rejected",  "auth-required"};

// "input-required", "INPUT_REQUIRED" or "TASK_STATE_INPUT_REQUIRED" to the last of them.
std::optional<std::string> wire_state(std::string state) {
  std::ranges::transform(state, state.begin(),
                         [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  if (state.starts_with("task-state-")) state.erase(0, 11);
  if (state == "cancelled") state = "canceled";
  if (std::ranges::find(kStates, state) == kStates.end()) return std::nullopt;
  std::ranges::transform(state, state.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return "TASK_STATE_" + state;
}

Parsed parse_one_task(TaskOptions::Verb verb, CommandLine line) {
  TaskOptions options{.verb = verb};
  const bool show = verb == TaskOptions::Verb::kShow;
  const std::string command = show ? "tasks show" : "tasks cancel";
  Grammar grammar(command, show ? kTasksShowHelp : kTasksCancelHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_flag("--json", options.json, "The task as JSON");
  grammar.offer_word({.ids = Ids::kTasks});
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (rest->empty()) return fault(command, "the id of the task is missing");
  options.id = std::move((*rest)[0]);
  return options;
}

Parsed parse_show(CommandLine line) { return parse_one_task(TaskOptions::Verb::kShow, std::move(line)); }
Parsed parse_cancel(CommandLine line) { return parse_one_task(TaskOptions::Verb::kCancel, std::move(line)); }

Parsed parse_tasks_list(CommandLine line) {
  TasksOptions options;
  std::string state;
  Grammar grammar("tasks", kTasksHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_option("--state", state, "Only tasks in this state: working, input-required, …");
  grammar.offer("--state", {.words = kStates});
  grammar.app().add_option("--context", options.context, "Only tasks of this conversation");
  grammar.offer("--context", {.ids = Ids::kContexts});
  grammar.app().add_option("--limit", options.limit, "At most so many, newest first (default 50)");
  grammar.app().add_flag("--json", options.json, "One task as JSON on each line");
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  if (!state.empty()) {
    const auto wire = wire_state(state);
    if (!wire) return fault("tasks", fmt::format("no state '{}'{}", one_line(state), suggestion(state, kStates)));
    options.state = *wire;
  }
  return options;
}

Words split_list(std::string_view list) {
  Words out;
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (const auto item = list.substr(0, comma); !item.empty()) out.emplace_back(item);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return out;
}

Parsed parse_events(CommandLine line) {
  EventsOptions options;
  std::string kinds;
  Grammar grammar("events", kEventsHelp);
  grammar.add_daemon(options.daemon);
  grammar.app().add_option("--from", options.from,
                           "Resume after this sequence number (default: all that the ring holds)");
  grammar.app().add_option("--kinds", kinds, "Only these kinds of events: task,run,…");
  grammar.offer("--kinds", {.words = event_kinds()});
  grammar.app().add_flag("--json", options.json, "The frames as JSON, one a line");
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  options.kinds = split_list(kinds);
  const auto known = event_kinds();
  for (const auto& kind : options.kinds) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    return fault("events", fmt::format("no kind '{}'{}", one_line(kind), suggestion(kind, known)));
  }
  return options;
}

Parsed parse_demo(CommandLine line) {
  DemoOptions options;
  Grammar grammar("demo", kDemoHelp);
  grammar.app().add_flag("--json", options.json, "The frames of the feed, then the report, as JSON, one a line");
  grammar.app().add_flag("--keep", options.keep, "Leave the demo's folder (configuration, workflow, store) behind");
  auto rest = grammar.parse(std::move(line), 0, 1);
  if (!rest) return rest.error();
  if (!rest->empty()) options.folder = std::move((*rest)[0]);
  return options;
}

Parsed parse_tasks(CommandLine line) {
  static constexpr CommandRow kVerbs[] = {{"show", parse_show}, {"cancel", parse_cancel}};
  return has_verb(line) ? parse_by(kVerbs, "tasks", std::move(line)) : parse_tasks_list(std::move(line));
}

constexpr CommandRow kCommands[] = {
    {"serve", parse_serve, "Run the daemon"},
    {"check", parse_check, "Say what is wrong with a configuration, and run nothing"},
    {"send", parse_send, "Send a message or run a workflow, and wait for the answer"},
    {"tasks", parse_tasks, "List tasks, show one, cancel one"},
    {"events", parse_events, "Follow everything that happens, live"},
    {"status", parse_status, "Say how the daemon is"},
    {"ps", parse_ps, "Show what it works on: turns, runs and their processes"},
    {"pause", parse_pause, "Start nothing new until 'resume', in all of it or one run"},
    {"resume", parse_resume, "Go on after 'pause'"},
    {"drain", parse_drain, "Take no more work, and end when the work there is has ended"},
    {"set", parse_set, "Change a setting until the next reload"},
    {"config", parse_config, "Print the configuration that holds now"},
    {"login", parse_login, "Sign in to a daemon, with a code that an operator approves"},
    {"logout", parse_logout, "Sign out again"},
    {"devices", parse_devices, "List the sign-ins that wait, approve one, deny one"},
    {"sessions", parse_sessions, "List who is signed in, revoke a session"},
    {"completion", parse_completion, "Print a script with which a shell completes all this"},
    {"demo", parse_demo, "See it work on a folder of yours, in a few seconds"}};

std::string top_footer() {
  std::string out = "Commands:\n";
  for (const auto& row : kCommands) out += fmt::format("  {:<10}  {}\n", row.name, row.about);
  return fmt::format("{}\n{}", out, kTopHelp.examples);
}

// `agentd` with an option in place of a command.
Parsed parse_top(CommandLine line) {
  std::string config;
  std::string extension;
  bool version = false;
  bool config_schema = false;
  Grammar grammar("", kTopHelp);
  grammar.app().footer(top_footer());
  grammar.app().add_option("-c,--config", config, "Serve with this configuration file");
  grammar.app().add_flag("--version", version, "Print the version");
  grammar.app().add_option("--extension-schema", extension,
                           "Print the JSON Schema of an extension: events, command, task-annotations");
  grammar.app().add_flag("--config-schema", config_schema, "Print the JSON Schema of the configuration");
  const bool nothing = line.words.empty();
  auto rest = grammar.parse(std::move(line), 0, 0);
  if (!rest) return rest.error();
  if (nothing) return Said{.exit = kUsage, .text = grammar.app().help()};
  if (version) return Said{.exit = kOk, .text = fmt::format("agentd {}\n", kVersion)};
  if (config_schema) return ConfigSchemaOptions{};
  if (!extension.empty()) return ExtensionSchemaOptions{.name = extension};
  return ServeOptions{.config = config};
}

Parsed parse_line(CommandLine line) {
  if (line.words.empty() || line.words[0].starts_with('-')) return parse_top(std::move(line));
  if (line.words[0] == "help") return parse_top({.words = {"--help"}});
  return parse_by(kCommands, "", std::move(line));
}

// `agentd complete WORD…`, which the script of `agentd completion` runs: the line as it stands up to the cursor.
Parsed parse_complete(Words words) {
  if (words.empty()) words.emplace_back();
  // bash makes three words of "--run=x".
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "=" || !words[i - 1].starts_with("--")) continue;
    if (i + 1 == words.size()) {
      words[i].clear();
    } else {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  auto parsed = parse_line({.words = std::move(words), .completing = true});
  // A line that is wrong already has no completion, and a shell shows no faults.
  return std::holds_alternative<CompleteOptions>(parsed) ? std::move(parsed) : Said{};
}

}  // namespace

Parsed parse_command_line(std::vector<std::string> words) {
  if (!words.empty() && words[0] == "complete") return parse_complete({words.begin() + 1, words.end()});
  return parse_line({.words = std::move(words)});
}

}  // namespace agentd::cli
