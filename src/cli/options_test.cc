#include "cli/options.h"

#include <gtest/gtest.h>

#include "cli/exit.h"
#include "cli/message.h"

namespace agentd::cli {
namespace {

template <class Options>
Options parsed(std::vector<std::string> words) {
  auto result = parse_command_line(std::move(words));
  if (const auto* said = std::get_if<Said>(&result)) ADD_FAILURE() << said->text;
  auto* options = std::get_if<Options>(&result);
  EXPECT_NE(options, nullptr);
  return options != nullptr ? *options : Options{};
}

Said said(std::vector<std::string> words) {
  auto result = parse_command_line(std::move(words));
  const auto* found = std::get_if<Said>(&result);
  EXPECT_NE(found, nullptr);
  return found != nullptr ? *found : Said{};
}

TEST(Options, ServeIsMeantByAConfigurationAlone) {
  EXPECT_EQ(parsed<ServeOptions>({"-c", "a.yaml"}).config, "a.yaml");
  EXPECT_EQ(parsed<ServeOptions>({"serve", "--config=a.yaml"}).config, "a.yaml");
  EXPECT_EQ(parsed<ServeOptions>({"serve", "--edges", "2"}).edges, 2U);
  EXPECT_NE(said({"serve", "--edges", "0"}).text.find("--edges"), std::string::npos);
  EXPECT_EQ(parsed<CheckOptions>({"check", "a.yaml"}).config, "a.yaml");
  EXPECT_EQ(parsed<ExtensionSchemaOptions>({"--extension-schema", "events"}).name, "events");
  parsed<ConfigSchemaOptions>({"--config-schema"});
}

TEST(Options, TheTextOfAMessageIsTakenAsItStands) {
  EXPECT_EQ(parsed<SendOptions>({"send", "what", "do", "tasks", "serve?"}).text, "what do tasks serve?");
  EXPECT_EQ(parsed<SendOptions>({"send", "[1,2]", "{a}"}).text, "[1,2] {a}");
  EXPECT_EQ(parsed<SendOptions>({"send", "--json", "--", "--no-stream", "-x"}).text, "--no-stream -x");
  EXPECT_EQ(parsed<SendOptions>({"send", "-"}).text, "-");
  const auto inputs =
      parsed<SendOptions>({"send", "--workflow", "w", "--input", "a=1", "--input", "b:=[1,2]", "and", "text"});
  EXPECT_EQ(inputs.inputs, (std::vector<std::string>{"a=1", "b:=[1,2]"}));
  EXPECT_EQ(inputs.text, "and text");
}

TEST(Options, FlagsOfSend) {
  const auto plain = parsed<SendOptions>({"send", "x"});
  EXPECT_TRUE(plain.stream && plain.wait && !plain.json);
  const auto all =
      parsed<SendOptions>({"send", "--no-stream", "--no-wait", "--json", "--timeout", "5s", "--url", "http://h", "x"});
  EXPECT_TRUE(!all.stream && !all.wait && all.json);
  EXPECT_EQ(all.timeout_ms, 5000);
  EXPECT_EQ(all.daemon.url, "http://h");
}

TEST(Options, StatesAreTakenInAnySpelling) {
  for (const char* state : {"input-required", "INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"}) {
    EXPECT_EQ(parsed<TasksOptions>({"tasks", "--state", state}).state, "TASK_STATE_INPUT_REQUIRED") << state;
  }
  EXPECT_EQ(parsed<TaskOptions>({"tasks", "cancel", "t1"}).verb, TaskOptions::Verb::kCancel);
  EXPECT_EQ(parsed<TaskOptions>({"tasks", "show", "t1"}).id, "t1");
}

TEST(Options, SignInAndWhoMayComeIn) {
  const auto login = parsed<LoginOptions>({"login"});
  EXPECT_EQ(login.scope + " " + login.client_id, "user agentd-cli");
  EXPECT_EQ(parsed<LoginOptions>({"login", "--scope", "operator", "--url", "http://h"}).scope, "operator");
  EXPECT_EQ(parsed<LogoutOptions>({"logout", "--url", "http://h"}).daemon.url, "http://h");
  EXPECT_EQ(parsed<DevicesOptions>({"devices"}).verb, DevicesOptions::Verb::kList);
  const auto approve = parsed<DevicesOptions>({"devices", "approve", "BCDF-GHJK", "--as", "alice", "--scope=user"});
  EXPECT_EQ(approve.verb, DevicesOptions::Verb::kApprove);
  EXPECT_EQ(approve.code + " " + approve.as + " " + approve.scope, "BCDF-GHJK alice user");
  EXPECT_TRUE(parsed<DevicesOptions>({"devices", "deny", "--all"}).all);
  EXPECT_EQ(parsed<DevicesOptions>({"devices", "deny", "BCDF-GHJK"}).code, "BCDF-GHJK");
  EXPECT_TRUE(parsed<SessionsOptions>({"sessions", "--json"}).json);
  EXPECT_EQ(parsed<SessionsOptions>({"sessions", "revoke", "ds_1"}).sid, "ds_1");
  EXPECT_EQ(parsed<SessionsOptions>({"sessions", "revoke", "--name", "alice"}).name, "alice");
  EXPECT_EQ(parsed<TasksOptions>({"tasks", "--token", "t"}).daemon.token, "t");
}

TEST(Options, OfTheInstanceAsAWhole) {
  using Verb = AdminOptions::Verb;
  EXPECT_EQ(parsed<ViewOptions>({"status"}).view, ViewOptions::View::kStatus);
  EXPECT_EQ(parsed<ViewOptions>({"ps"}).view, ViewOptions::View::kWork);
  EXPECT_TRUE(parsed<ViewOptions>({"config", "--json"}).json);
  const auto pause = parsed<AdminOptions>({"pause", "--run", "run-1", "--reason", "a disk"});
  EXPECT_TRUE(pause.verb == Verb::kPause && pause.run == "run-1" && pause.reason == "a disk");
  EXPECT_EQ(parsed<AdminOptions>({"resume"}).verb, Verb::kResume);
  EXPECT_EQ(parsed<AdminOptions>({"drain", "--reason", "r"}).reason, "r");
  const auto set = parsed<AdminOptions>({"set", "a.b", "[1,2]"});
  EXPECT_TRUE(set.path == "a.b" && set.value == "[1,2]");
}

CompleteOptions completed(std::vector<std::string> words) {
  words.insert(words.begin(), "complete");
  return parsed<CompleteOptions>(std::move(words));
}

TEST(Completion, FollowsTheLineUpToTheCursor) {
  const auto has = [](const CompleteOptions& options, const char* word) {
    return std::ranges::find(options.words, word) != options.words.end();
  };
  EXPECT_TRUE(has(completed({""}), "sessions")) << "commands";
  EXPECT_TRUE(has(completed({}), "sessions"));
  EXPECT_TRUE(has(completed({"--"}), "--version"));
  EXPECT_EQ(completed({"devices", ""}).words, (std::vector<std::string>{"approve", "deny"}));
  EXPECT_EQ(completed({"tasks", "sh"}).prefix, "sh");
  EXPECT_TRUE(has(completed({"tasks", "--"}), "--state")) << "the options of a command that lists";
  EXPECT_TRUE(has(completed({"status", ""}), "--json")) << "where no word may stand, an option may";
  EXPECT_TRUE(has(completed({"tasks", "show", "t1", ""}), "--json"));
  EXPECT_TRUE(has(completed({"tasks", "--state", ""}), "input-required"));
  EXPECT_TRUE(has(completed({"set", ""}), "a2a.introspection.enabled"));
  EXPECT_TRUE(has(completed({"set", "a2a.introspection.enabled", ""}), "true"));
  EXPECT_TRUE(completed({"demo", ""}).words.empty()) << "a folder is the shell's to find";
  EXPECT_TRUE(completed({"send", "--out", ""}).words.empty());
}

TEST(Completion, KnowsWhichIdsToAskForAndWhom) {
  EXPECT_EQ(completed({"tasks", "show", ""}).ids, Ids::kTasks);
  EXPECT_EQ(completed({"send", "--json", "--task", ""}).ids, Ids::kTasks) << "a flag before it is no value";
  EXPECT_EQ(completed({"send", "--workflow", ""}).ids, Ids::kWorkflows);
  EXPECT_EQ(completed({"pause", "--run", "ru"}).ids, Ids::kRuns);
  EXPECT_EQ(completed({"tasks", "--context", ""}).ids, Ids::kContexts);
  EXPECT_EQ(completed({"devices", "approve", "--as", "alice", ""}).ids, Ids::kUserCodes);
  EXPECT_EQ(completed({"sessions", "revoke", ""}).ids, Ids::kSessions);
  EXPECT_EQ(completed({"sessions", "revoke", "--name", ""}).ids, Ids::kSessionNames);
  const auto split = completed({"pause", "--url", "=", "http://h", "--run", "=", "ru"});
  EXPECT_TRUE(split.ids == Ids::kRuns && split.prefix == "ru" && split.daemon.url == "http://h") << "as bash splits it";
  const auto open = completed({"pause", "--token", "t", "--run", "="});
  EXPECT_TRUE(open.ids == Ids::kRuns && open.prefix.empty() && open.daemon.token == "t");
}

TEST(Completion, OfALineThatIsWrongIsNothing) {
  EXPECT_EQ(said({"complete", "nonsense", ""}).text, "");
  EXPECT_EQ(said({"complete", "tasks", "nonsense", ""}).exit, kOk);
  EXPECT_TRUE(completed({"tasks", "--limit", "many", "--state", ""}).words.empty());
}

TEST(Options, MistakesGetOneLineWithTheNearestRightWord) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"evnts"}, "no command 'evnts'; did you mean 'events'?"},
      {{"tasks", "shw", "x"}, "no command 'tasks shw'; did you mean 'show'?"},
      {{"events", "--kind", "run"}, "no option '--kind'; did you mean '--kinds'?"},
      {{"events", "--kinds", "run,tas"}, "no kind 'tas'; did you mean 'task'?"},
      {{"send", "--contxt=a", "x"}, "no option '--contxt=a'; did you mean '--context'?"},
      {{"tasks", "--state", "workin"}, "no state 'workin'; did you mean 'working'?"},
      {{"--versoin"}, "no option '--versoin'; did you mean '--version'?"},
      {{"tasks", "show"}, "the id of the task is missing"},
      {{"demo", "a", "b"}, "'b' is one word too many"},
      {{"send"}, "there is no text to send"},
      {{"send", "--input", "a=1", "x"}, "--input goes with --workflow"},
      {{"send", "--timeout", "soon", "x"}, "is not a duration"},
      {{"tasks", "--limit", "many"}, "many"},
      {{"devices", "aprove", "X"}, "no command 'devices aprove'; did you mean 'approve'?"},
      {{"devices", "approve", "--as", "alice"}, "the code is missing"},
      {{"devices", "approve", "BCDF-GHJK"}, "--as NAME"},
      {{"devices", "approve", "BCDF-GHJK", "--as", "a", "--scope", "root"}, "no scope 'root'"},
      {{"devices", "deny"}, "either the code or --all"},
      {{"devices", "deny", "BCDF-GHJK", "--all"}, "either the code or --all"},
      {{"sessions", "revoke"}, "one of SID, --name NAME and --all"},
      {{"sessions", "revoke", "ds_1", "--name", "alice"}, "one of SID, --name NAME and --all"},
      {{"login", "--scope", "admin"}, "no scope 'admin'"},
      {{"pause", "run-1"}, "'run-1' is one word too many"},
      {{"resume", "--reason", "x"}, "no option '--reason'"},
      {{"set", "a2a.introspection.enabled"}, "PATH VALUE"},
      {{"completion"}, "bash or zsh"},
      {{"completion", "tcsh"}, "no script for 'tcsh'"},
      {{"x\x1b[2J"}, "no command 'x\\x1b[2J'"},
  };
  for (const auto& [words, expected] : cases) {
    const Said answer = said(words);
    EXPECT_EQ(answer.exit, kUsage) << expected;
    EXPECT_NE(answer.text.find(expected), std::string::npos) << answer.text;
    EXPECT_EQ(std::ranges::count(answer.text, '\n'), 1) << answer.text;
  }
}

TEST(Options, HelpNamesCommandsAndExitCodes) {
  const Said help = said({"--help"});
  EXPECT_EQ(help.exit, kOk);
  for (const char* word : {"serve", "send", "demo", "Exit codes", "AGENTD_URL", "--extension-schema"}) {
    EXPECT_NE(help.text.find(word), std::string::npos) << word;
  }
  for (const char* command : {"serve", "check", "send", "tasks", "events", "status", "ps", "pause", "resume", "drain",
                              "set", "config", "login", "logout", "devices", "sessions", "completion", "demo"}) {
    EXPECT_NE(help.text.find(std::string("\n  ") + command + "  "), std::string::npos) << command;
    EXPECT_EQ(said({command, "--help"}).exit, kOk);
    EXPECT_TRUE(said({command, "--help"}).text.find(std::string("Usage: agentd ") + command) != std::string::npos)
        << command;
  }
  EXPECT_EQ(said({"--version"}).text.substr(0, 7), "agentd ");
  EXPECT_EQ(said({}).exit, kUsage);
}

TEST(Message, IsAddressedToRootUnlessItAnswersATask) {
  const Json plain = *send_params({.text = "hi"}, "hi");
  EXPECT_EQ(plain["message"]["contextId"], "root");
  EXPECT_EQ(plain["message"]["role"], "ROLE_USER");
  EXPECT_EQ(plain["message"]["parts"], Json::parse(R"([{"text":"hi"}])"));
  EXPECT_FALSE(plain.contains("configuration"));
  const Json answer = *send_params({.task = "t1", .wait = false}, "yes");
  EXPECT_EQ(answer["message"]["taskId"], "t1");
  EXPECT_FALSE(answer["message"].contains("contextId"));
  EXPECT_EQ(answer["configuration"]["returnImmediately"], true);
}

TEST(Message, AWorkflowIsOneMarkedCommandPart) {
  const Json message = (*send_params({.workflow = "w", .inputs = {"dir=a=b", "n:=3", "e="}}, ""))["message"];
  EXPECT_EQ(message["extensions"], Json::parse(R"(["https://agentd.dev/a2a/ext/command"])"));
  EXPECT_EQ(
      message["parts"],
      Json::parse(R"([{"data":{"agentd":{"op":"workflow.run","workflow":"w","inputs":{"dir":"a=b","n":3,"e":""}}}}])"));
  EXPECT_FALSE(message["messageId"].get<std::string>().empty());
}

TEST(Message, AnInputThatIsNoneIsNamed) {
  for (const char* bad : {"dir", "=x", ":=1", "n:={"}) {
    const auto params = send_params({.workflow = "w", .inputs = {bad}}, "");
    ASSERT_FALSE(params) << bad;
    EXPECT_EQ(params.error().code, Code::kConfig);
  }
  EXPECT_FALSE(send_params({.workflow = "w", .inputs = {"a=1", "a=2"}}, ""));
}

}  // namespace
}  // namespace agentd::cli
