#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>

#include "base/document.h"
#include "base/time_text.h"
#include "base/version.h"
#include "cli/exit.h"
#include "cli/help.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8420";

Said fault(std::string_view command, const std::string& what) {
  const std::string help = command.empty() ? "agentd --help" : fmt::format("agentd {} --help", command);
  return {.exit = kUsage, .text = fmt::format("agentd: {} (see '{}')\n", what, help)};
}

// "; did you mean 'x'?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? near : fmt::format("; did you mean '{}'?", near);
}

class Usage final : public CLI::Formatter {
 public:
  explicit Usage(std::string line) : line_(std::move(line)) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: agentd " + line_ + "\n"; }

 private:
  std::string line_;
};

// The options of one command. Words that are no options are not CLI11's: it would split "[a,b]" at the comma.
class Grammar final {
 public:
  Grammar(std::string_view command, const Help& help) : command_(command), app_(std::string(help.about)) {
    app_.formatter(std::make_shared<Usage>(std::string(help.usage)));
    app_.footer(std::string(help.examples));
    app_.allow_extras();
  }

  CLI::App& app() { return app_; }

  // The words left over, between `least` and `most`; or what to say instead of running.
  std::variant<Said, std::vector<std::string>> parse(std::vector<std::string> words, std::size_t least,
                                                     std::size_t most) {
    std::ranges::reverse(words);  // CLI11 takes them from the back
    try {
      app_.parse(words);
    } catch (const CLI::CallForHelp&) {
      return Said{.exit = kOk, .text = app_.help()};
    } catch (const CLI::ParseError& error) {
      return fault(command_, one_line(error.what()));
    }
    return leftovers(least, most);
  }

 private:
  std::variant<Said, std::vector<std::string>> leftovers(std::size_t least, std::size_t most) const {
    std::vector<std::string> rest;
    bool only_words = false;
    for (auto& word : app_.remaining()) {
      if (!only_words && word == "--") {
        only_words = true;
      } else if (!only_words && word.size() > 1 && word.front() == '-') {
        return unknown_option(word);
      } else {
        rest.push_back(std::move(word));
      }
    }
    if (rest.size() < least) return fault(command_, "something is missing");
    if (rest.size() > most) return fault(command_, fmt::format("'{}' is one word too many", one_line(rest[most])));
    return rest;
  }

  Said unknown_option(const std::string& word) const {
    std::vector<std::string> known;
    for (const CLI::Option* option : app_.get_options()) {
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
    }
    return fault(command_,
                 fmt::format("no option '{}'{}", one_line(word), suggestion(word.substr(0, word.find('=')), known)));
  }

  std::string command_;
  CLI::App app_;
};

void add_url(Grammar& grammar, client::Endpoint& daemon) {
  daemon.url = kDefaultUrl;
  grammar.app()
      .add_option("--url", daemon.url, fmt::format("The daemon (default {}, or AGENTD_URL)", kDefaultUrl))
      ->envname("AGENTD_URL");
  grammar.app()
      .add_option("--ca", daemon.ca, "The CA of an https:// daemon, a file in PEM (default the system's, or AGENTD_CA)")
      ->envname("AGENTD_CA");
}

// The daemon, and who one is there.
void add_daemon(Grammar& grammar, client::Endpoint& daemon) {
  add_url(grammar, daemon);
  grammar.app()
      .add_option("--token", daemon.token, "The bearer token (default AGENTD_TOKEN, else that of 'agentd login')")
      ->envname("AGENTD_TOKEN");
}

void add_config(Grammar& grammar, std::string& file) {
  grammar.app()
      .add_option("-c,--config", file, "The configuration file, YAML or JSON (default AGENTD_CONFIG)")
      ->envname("AGENTD_CONFIG");
}

using Words = std::vector<std::string>;

Parsed parse_serve(Words words) {
  ServeOptions options;
  Grammar grammar("serve", kServeHelp);
  add_config(grammar, options.config);
  grammar.app()
      .add_option("--edges", options.edges, "Threads that serve connections, 1 to 64 (default: the cores, at most 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 64).description(""));
  grammar.app().add_flag("--no-io-uring", options.no_io_uring,
                         "Send by a system call for each stream, not by io_uring");
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  return options;
}

Parsed parse_check(Words words) {
  CheckOptions options;
  std::string output = "text";
  Grammar grammar("check", kCheckHelp);
  add_config(grammar, options.config);
  grammar.app().add_option("--output", output, "How to say it: text (default) or json");
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  if (output != "text" && output != "json") return fault("check", "--output is text or json");
  options.json = output == "json";
  auto& rest = std::get<Words>(parsed);
  if (!rest.empty()) options.config = std::move(rest[0]);
  return options;
}

Parsed parse_send(Words words) {
  SendOptions options;
  std::string timeout = "10m";
  bool no_wait = false;
  Grammar grammar("send", kSendHelp);
  auto& app = grammar.app();
  add_daemon(grammar, options.daemon);
  app.add_option("--context", options.context, "The conversation (default root)");
  app.add_option("--task", options.task, "Answer or add to this task");
  app.add_option("--workflow", options.workflow, "Run this workflow instead of asking the agent");
  app.add_option("--input", options.inputs, "An input of the workflow: name=text or name:=json")
      ->allow_extra_args(false);
  app.add_option("--out", options.out, "Write the artifacts into this folder");
  app.add_option("--timeout", timeout, "Give up waiting after this long (default 10m)");
  app.add_flag("--stream,!--no-stream", options.stream, "Show progress as it comes (default), or the end only");
  app.add_flag("--no-wait", no_wait, "Return as soon as there is a task");
  app.add_flag("--json", options.json, "The daemon's answers as JSON, one a line");
  auto parsed = grammar.parse(std::move(words), 0, SIZE_MAX);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;

  for (const auto& word : std::get<Words>(parsed)) options.text += (options.text.empty() ? "" : " ") + word;
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

Parsed parse_one_task(TaskOptions::Verb verb, Words words) {
  TaskOptions options{.verb = verb};
  const bool show = verb == TaskOptions::Verb::kShow;
  const std::string command = show ? "tasks show" : "tasks cancel";
  Grammar grammar(command, show ? kTasksShowHelp : kTasksCancelHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_flag("--json", options.json, "The task as JSON");
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  auto& rest = std::get<Words>(parsed);
  if (rest.empty()) return fault(command, "the id of the task is missing");
  options.id = std::move(rest[0]);
  return options;
}

Parsed parse_show(Words words) { return parse_one_task(TaskOptions::Verb::kShow, std::move(words)); }
Parsed parse_cancel(Words words) { return parse_one_task(TaskOptions::Verb::kCancel, std::move(words)); }

Parsed parse_tasks_list(Words words) {
  TasksOptions options;
  std::string state;
  Grammar grammar("tasks", kTasksHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_option("--state", state, "Only tasks in this state: working, input-required, …");
  grammar.app().add_option("--context", options.context, "Only tasks of this conversation");
  grammar.app().add_option("--limit", options.limit, "At most so many, newest first (default 50)");
  grammar.app().add_flag("--json", options.json, "One task as JSON on each line");
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
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

Parsed parse_events(Words words) {
  EventsOptions options;
  std::string kinds;
  Grammar grammar("events", kEventsHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_option("--from", options.from,
                           "Resume after this sequence number (default: all that the ring holds)");
  grammar.app().add_option("--kinds", kinds, "Only these kinds of events: task,run,…");
  grammar.app().add_flag("--json", options.json, "The frames as JSON, one a line");
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  options.kinds = split_list(kinds);
  const auto known = event_kinds();
  for (const auto& kind : options.kinds) {
    if (std::ranges::find(known, kind) != known.end()) continue;
    return fault("events", fmt::format("no kind '{}'{}", one_line(kind), suggestion(kind, known)));
  }
  return options;
}

// What is wrong with a scope, or nothing.
std::optional<Said> scope_fault(std::string_view command, const std::string& scope) {
  if (scope.empty() || scope == "user" || scope == "operator") return std::nullopt;
  return fault(command, fmt::format("no scope '{}': it is user or operator", one_line(scope)));
}

Parsed parse_login(Words words) {
  LoginOptions options;
  Grammar grammar("login", kLoginHelp);
  add_url(grammar, options.daemon);
  grammar.app().add_option("--scope", options.scope, "What to ask for: user (default) or operator");
  grammar.app().add_option("--client-id", options.client_id,
                           "What to be called until it is approved (default agentd-cli)");
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  if (auto wrong = scope_fault("login", options.scope)) return *wrong;
  return options;
}

Parsed parse_logout(Words words) {
  LogoutOptions options;
  Grammar grammar("logout", kLogoutHelp);
  add_url(grammar, options.daemon);
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  return options;
}

constexpr const char* kRowsAsJson = "One on each line, as JSON";
constexpr const char* kResultAsJson = "The result as JSON";

Parsed parse_approve(Words words) {
  DevicesOptions options{.verb = DevicesOptions::Verb::kApprove};
  Grammar grammar("devices approve", kDevicesApproveHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_option("--as", options.as, "Whose sign-in it is: a name of a-z, 0-9, '.', '_', '-'");
  grammar.app().add_option("--scope", options.scope,
                           "Grant no more than this: user or operator (default: what was asked for)");
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  auto& rest = std::get<Words>(parsed);
  if (rest.empty()) return fault("devices approve", "the code is missing");
  if (options.as.empty()) return fault("devices approve", "whose sign-in it is is missing: --as NAME");
  if (auto wrong = scope_fault("devices approve", options.scope)) return *wrong;
  options.code = std::move(rest[0]);
  return options;
}

Parsed parse_deny(Words words) {
  DevicesOptions options{.verb = DevicesOptions::Verb::kDeny};
  Grammar grammar("devices deny", kDevicesDenyHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_flag("--all", options.all, "Every sign-in that waits");
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  auto& rest = std::get<Words>(parsed);
  if (rest.empty() != options.all) return fault("devices deny", "either the code or --all is needed");
  if (!rest.empty()) options.code = std::move(rest[0]);
  return options;
}

// Of a command that lists, when it is given no verb.
template <class Options>
Parsed parse_list(std::string_view command, const Help& help, Words words) {
  Options options;
  Grammar grammar(command, help);
  add_daemon(grammar, options.daemon);
  grammar.app().add_flag("--json", options.json, kRowsAsJson);
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  return options;
}

Parsed parse_revoke(Words words) {
  SessionsOptions options{.verb = SessionsOptions::Verb::kRevoke};
  Grammar grammar("sessions revoke", kSessionsRevokeHelp);
  add_daemon(grammar, options.daemon);
  grammar.app().add_option("--name", options.name, "Every session of this name");
  grammar.app().add_flag("--all", options.all, "Every session");
  grammar.app().add_flag("--json", options.json, kResultAsJson);
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  auto& rest = std::get<Words>(parsed);
  if ((rest.empty() ? 0 : 1) + (options.name.empty() ? 0 : 1) + (options.all ? 1 : 0) != 1) {
    return fault("sessions revoke", "one of SID, --name NAME and --all is needed");
  }
  if (!rest.empty()) options.sid = std::move(rest[0]);
  return options;
}

Parsed parse_demo(Words words) {
  DemoOptions options;
  Grammar grammar("demo", kDemoHelp);
  grammar.app().add_flag("--json", options.json, "The frames of the feed, then the report, as JSON, one a line");
  grammar.app().add_flag("--keep", options.keep, "Leave the demo's folder (configuration, workflow, store) behind");
  auto parsed = grammar.parse(std::move(words), 0, 1);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  auto& rest = std::get<Words>(parsed);
  if (!rest.empty()) options.folder = std::move(rest[0]);
  return options;
}

struct CommandRow {
  const char* name;
  Parsed (*parse)(Words words);
};

// The row that the first word names, which is taken away. `command` is what it stands behind.
Parsed parse_by(std::span<const CommandRow> rows, std::string_view command, Words words) {
  const std::string name = std::move(words[0]);
  words.erase(words.begin());
  if (const auto row = std::ranges::find(rows, name, &CommandRow::name); row != rows.end())
    return row->parse(std::move(words));
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return fault(command, fmt::format("no command '{}{}{}'{}", command, command.empty() ? "" : " ", one_line(name),
                                    suggestion(name, names)));
}

bool has_verb(const Words& words) { return !words.empty() && !words[0].starts_with('-'); }

Parsed parse_tasks(Words words) {
  static constexpr CommandRow kVerbs[] = {{"show", parse_show}, {"cancel", parse_cancel}};
  return has_verb(words) ? parse_by(kVerbs, "tasks", std::move(words)) : parse_tasks_list(std::move(words));
}

Parsed parse_devices(Words words) {
  static constexpr CommandRow kVerbs[] = {{"approve", parse_approve}, {"deny", parse_deny}};
  return has_verb(words) ? parse_by(kVerbs, "devices", std::move(words))
                         : parse_list<DevicesOptions>("devices", kDevicesHelp, std::move(words));
}

Parsed parse_sessions(Words words) {
  static constexpr CommandRow kVerbs[] = {{"revoke", parse_revoke}};
  return has_verb(words) ? parse_by(kVerbs, "sessions", std::move(words))
                         : parse_list<SessionsOptions>("sessions", kSessionsHelp, std::move(words));
}

constexpr CommandRow kCommands[] = {{"serve", parse_serve},   {"check", parse_check},     {"send", parse_send},
                                    {"tasks", parse_tasks},   {"events", parse_events},   {"login", parse_login},
                                    {"logout", parse_logout}, {"devices", parse_devices}, {"sessions", parse_sessions},
                                    {"demo", parse_demo}};

// `agentd` with an option in place of a command.
Parsed parse_top(Words words) {
  std::string config;
  std::string extension;
  bool version = false;
  bool config_schema = false;
  Grammar grammar("", kTopHelp);
  grammar.app().add_option("-c,--config", config, "Serve with this configuration file");
  grammar.app().add_flag("--version", version, "Print the version");
  grammar.app().add_option("--extension-schema", extension,
                           "Print the JSON Schema of an extension: events, command, task-annotations");
  grammar.app().add_flag("--config-schema", config_schema, "Print the JSON Schema of the configuration");
  const bool nothing = words.empty();
  auto parsed = grammar.parse(std::move(words), 0, 0);
  if (auto* said = std::get_if<Said>(&parsed)) return *said;
  if (nothing) return Said{.exit = kUsage, .text = grammar.app().help()};
  if (version) return Said{.exit = kOk, .text = fmt::format("agentd {}\n", kVersion)};
  if (config_schema) return ConfigSchemaOptions{};
  if (!extension.empty()) return ExtensionSchemaOptions{.name = extension};
  return ServeOptions{.config = config};
}

}  // namespace

Parsed parse_command_line(std::vector<std::string> words) {
  if (words.empty() || words[0].starts_with('-')) return parse_top(std::move(words));
  if (words[0] == "help") return parse_top({"--help"});
  return parse_by(kCommands, "", std::move(words));
}

}  // namespace agentd::cli
