// The command line as values: what each command was asked to do. CLI11 stays behind grammar.h.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "client/rpc.h"

namespace agentd::cli {

struct ServeOptions {
  std::string config = {};  // a file; empty = the defaults
  unsigned edges = 0;       // threads that serve connections; 0: one for each core, at most 4
  bool no_io_uring = false;
};

struct CheckOptions {
  std::string config = {};
  bool json = false;  // --output json
};

struct ExtensionSchemaOptions {
  std::string name = {};  // of the extension: "events", …
};

struct ConfigSchemaOptions {};

// One `--input`: `name=text`, or `name:=json`.
struct SendOptions {
  client::Endpoint daemon = {};  // without a token, the one that is kept for the URL
  std::string context = {};      // empty = `root`, or the task's own when a task is named
  std::string task = {};
  std::string text = {};  // "-" = stdin
  std::string workflow = {};
  std::vector<std::string> inputs = {};
  std::string out = {};  // a folder for the artifacts; empty = none
  std::int64_t timeout_ms = 600'000;
  bool stream = true;
  bool wait = true;
  bool json = false;
};

struct TasksOptions {
  client::Endpoint daemon = {};
  std::string state = {};  // TASK_STATE_…, or empty
  std::string context = {};
  std::size_t limit = 50;
  bool json = false;
};

struct TaskOptions {
  enum class Verb : std::uint8_t { kShow, kCancel };
  Verb verb = Verb::kShow;
  client::Endpoint daemon = {};
  std::string id = {};
  bool json = false;
};

struct EventsOptions {
  client::Endpoint daemon = {};
  std::uint64_t from = 0;
  std::vector<std::string> kinds = {};  // empty = all
  bool json = false;
};

// status, ps, config
struct ViewOptions {
  enum class View : std::uint8_t { kStatus, kWork, kConfig };
  View view = View::kStatus;
  client::Endpoint daemon = {};
  bool json = false;
};

// pause, resume, drain, set
struct AdminOptions {
  enum class Verb : std::uint8_t { kPause, kResume, kDrain, kSet };
  Verb verb = Verb::kPause;
  client::Endpoint daemon = {};
  std::string run = {};  // empty = the whole instance
  std::string reason = {};
  std::string path = {};
  std::string value = {};  // JSON, or a text
  bool json = false;
};

struct CompletionOptions {
  std::string shell = {};  // bash or zsh
};

// What a daemon can be asked for, to complete a word.
enum class Ids : std::uint8_t { kNone, kTasks, kContexts, kRuns, kWorkflows, kUserCodes, kSessions, kSessionNames };

struct CompleteOptions {
  client::Endpoint daemon = {};
  std::string prefix = {};              // as it was typed, quotes and all
  std::vector<std::string> words = {};  // what may stand there: these, and
  Ids ids = Ids::kNone;
};

struct LoginOptions {
  client::Endpoint daemon = {};
  std::string scope = "user";  // or operator
  std::string client_id = "agentd-cli";
};

struct LogoutOptions {
  client::Endpoint daemon = {};
};

struct DevicesOptions {
  enum class Verb : std::uint8_t { kList, kApprove, kDeny };
  Verb verb = Verb::kList;
  client::Endpoint daemon = {};
  std::string code = {};
  std::string as = {};     // whose it will be
  std::string scope = {};  // empty = what was asked for
  bool all = false;
  bool json = false;
};

struct SessionsOptions {
  enum class Verb : std::uint8_t { kList, kRevoke };
  Verb verb = Verb::kList;
  client::Endpoint daemon = {};
  std::string sid = {};  // to revoke: this, or those of `name`, or all
  std::string name = {};
  bool all = false;
  bool json = false;
};

struct DemoOptions {
  std::string folder = ".";
  bool json = false;
  bool keep = false;
};

// Nothing to run: help, a version, or a fault of the command line. The text goes to stdout when `exit` is 0.
struct Said {
  int exit = 0;
  std::string text = {};
};

using Parsed = std::variant<Said, ServeOptions, CheckOptions, ExtensionSchemaOptions, ConfigSchemaOptions, SendOptions,
                            TasksOptions, TaskOptions, EventsOptions, ViewOptions, AdminOptions, CompletionOptions,
                            CompleteOptions, LoginOptions, LogoutOptions, DevicesOptions, SessionsOptions, DemoOptions>;

// `words` is the command line without the program's name.
[[nodiscard]] Parsed parse_command_line(std::vector<std::string> words);

}  // namespace agentd::cli
