// What a configuration takes from outside of its file: variables, secrets, texts, workflows.
#include "config/config_fixture.h"
#include "config/table.h"

namespace agentd::config {
namespace {

TEST_F(Config, NeverTellsASecretThatStandsInTheWrongPlace) {
  const std::string literal = "a secret is a reference, never the secret itself: write {env: NAME} or {file: PATH}";
  EXPECT_EQ(faults(fmt::format("a2a: {{bearer: {}}}", kCanary)), Texts{"1:7: a2a.bearer: " + literal});
  EXPECT_EQ(faults(fmt::format("a2a: {{bearer: \"${{{}}}\"}}", kCanary)), Texts{"1:7: a2a.bearer: " + literal});
  EXPECT_EQ(faults(fmt::format("a2a: {{bearer: {{value: {}}}}}", kCanary)), Texts{"1:7: a2a.bearer: " + literal});
  EXPECT_EQ(faults(fmt::format("a2a: {{bearer: {{env: {}}}}}", kCanary)),
            Texts{"1:7: a2a.bearer: env: names no variable: write its name, not its value"});
  EXPECT_EQ(faults(fmt::format("a2a: {{bearer: {{file: {}}}}}", kCanary)),
            Texts{"1:7: a2a.bearer: the file cannot be read: No such file or directory"});
  env_.emplace_back("TOKEN", kCanary);
  EXPECT_EQ(faults("a2a: {bearer: \"${TOKEN}\"}"), Texts{"1:7: a2a.bearer: " + literal});
  for (const Row& row : table()) {
    const std::string variable = variable_of(row);
    if (variable.empty() || row.type == Type::kString || row.type == Type::kText || row.type == Type::kPath) continue;
    Environment env = env_;
    env.emplace_back(variable, kCanary);
    const auto snapshot = load({.file = "", .env = env});
    ASSERT_FALSE(snapshot) << variable;
    EXPECT_EQ(dump_json(faults_to_json(snapshot.error())).find(kCanary), std::string::npos) << variable;
  }
  const Snapshot snapshot = good("a2a: {bearer: {env: TOKEN}}");
  EXPECT_EQ(snapshot.a2a.bearer->value, kCanary);
  EXPECT_EQ(dump_json(effective(snapshot)).find(kCanary), std::string::npos);
}

TEST_F(Config, RefusesSecretsThatAreUnsetEmptyOrOpenToAll) {
  env_.emplace_back("EMPTY", "");
  EXPECT_EQ(faults("a2a: {bearer: {env: UNSET}}"),
            Texts{"1:7: a2a.bearer: the variable that it names is not set, or empty"});
  EXPECT_EQ(faults("a2a: {bearer: {env: EMPTY}}"),
            Texts{"1:7: a2a.bearer: the variable that it names is not set, or empty"});
  write("empty", "\n");
  write("open", "token\n", 0644);
  write("group", "token\r\n", 0640);
  write("lines", "one\ntwo\n");
  EXPECT_EQ(faults("a2a: {bearer: {file: empty}}"), Texts{"1:7: a2a.bearer: the file is empty"});
  EXPECT_EQ(faults("a2a: {bearer: {file: open}}"), Texts{"1:7: a2a.bearer: the file is open to every user of "
                                                         "this machine: take that away with chmod o-rwx"});
  EXPECT_EQ(faults("a2a: {bearer: {file: lines}}"), Texts{"1:7: a2a.bearer: the file has more than one line"});
  EXPECT_EQ(faults("a2a: {bearer: {file: .}}"),
            Texts{"1:7: a2a.bearer: the file cannot be read: it is not a regular file"});
  EXPECT_EQ(good("a2a: {bearer: {file: group}}").a2a.bearer->value, "token");
}

TEST_F(Config, PutsInVariables) {
  env_.insert(env_.end(), {{"NAME", "n"}, {"EMPTY", ""}, {"RING", "33"}, {"ON", "false"}, {"COLOR", "0x10"}});
  const Snapshot s = good(R"(
agent:
  name: "${NAME}-${NAME:-x}-${UNSET:-d e}-${EMPTY:-f}-${EMPTY}-$${NAME}-$NAME-$"
  description: "${COLOR}"
  instructions: "keep ${{ .inputs.${NAME} }} and ${{ open"
a2a:
  events:
    enabled: ${ON}
    ring: ${RING}
workflows:
  - name: w
    steps: {a: {run: "echo ${HOME} ${NOT_SET}"}}
)");
  EXPECT_EQ(s.agent.name, "n-n-d e-f--${NAME}-$NAME-$");
  EXPECT_EQ(s.agent.description, "0x10");
  EXPECT_EQ(s.agent.instructions, "keep ${{ .inputs.${NAME} }} and ${{ open");
  EXPECT_FALSE(s.a2a.events.enabled);
  EXPECT_EQ(s.a2a.events.ring, 33U);
  EXPECT_EQ(s.workflows[0].value["steps"]["a"]["run"], "echo ${HOME} ${NOT_SET}");
}

TEST_F(Config, RefusesVariablesThatAreNotSetAndBrokenReferences) {
  env_.emplace_back("RING", "many");
  EXPECT_EQ(faults("agent:\n  name: ${A} ${B}\n  description: \"${C D}\"\n  instructions: \"x ${\"\n"
                   "a2a:\n  events:\n    ring: ${RING}\n"),
            (Texts{
                "2:3: agent.name: the variable A is not set: set it, or write ${A:-default}",
                "2:3: agent.name: the variable B is not set: set it, or write ${B:-default}",
                "3:3: agent.description: a ${ begins no reference to a variable: write ${NAME}, or $${ for the "
                "characters themselves",
                "4:3: agent.instructions: a ${ begins no reference to a variable: write ${NAME}, or $${ for the "
                "characters themselves",
                "7:5: a2a.events.ring: is not an integer; expected an integer from 1 to 1000000",
            }));
}

TEST_F(Config, EnvironmentOverridesTheFile) {
  env_.insert(env_.end(), {{"AGENTD_A2A_EVENTS_RING", "5"},
                           {"AGENTD_A2A_EVENTS_ENABLED", "false"},
                           {"AGENTD_A2A_EVENTS_DEADLINE", "7s"},
                           {"AGENTD_A2A_LISTEN", "http://127.0.0.1:0"},
                           {"AGENTD_AGENT_NAME", "12"},
                           {"AGENTD_STORE_PATH", "there"},
                           {"AGENTD_CONFIG", "ignored"},
                           {"AGENTD_CA", "ignored"},
                           {"AGENTD_TOKEN", "ignored"},
                           {"AGENTD_TOKEN", "token"},
                           {"AGENTD_WHO", "who"}});
  const Snapshot s = good(
      "a2a:\n  bearer: {env: AGENTD_TOKEN}\n  events: {ring: 9}\n  listen: [\"http://[::1]:1\"]\n"
      "agent: {description: \"${AGENTD_WHO}\"}\n");
  EXPECT_EQ(s.a2a.events.ring, 5U);
  EXPECT_FALSE(s.a2a.events.enabled);
  EXPECT_EQ(s.a2a.events.deadline_ms, 7000);
  EXPECT_EQ(s.a2a.listen, Texts{"http://127.0.0.1:0"});
  EXPECT_EQ(s.agent.name, "12");
  EXPECT_EQ(s.agent.description, "who");
  EXPECT_EQ(s.store.path, folder_ / "there");
}

TEST_F(Config, NamesTheVariableThatIsWrong) {
  env_.insert(env_.end(), {{"AGENTD_A2A_EVENTS_RNG", "5"},
                           {"AGENTD_NOTHING_LIKE_IT", "5"},
                           {"AGENTD_A2A_BEARER", kCanary},
                           {"AGENTD_LOG_LEVEL", "loud"}});
  EXPECT_EQ(faults("a2a: {events: {ring: 0}}\n"),
            (Texts{"1:16: a2a.events.ring: is too small; expected an integer from 1 to 1000000",
                   "environment variable AGENTD_A2A_EVENTS_RNG: overrides no key; did you mean "
                   "AGENTD_A2A_EVENTS_RING?",
                   "environment variable AGENTD_NOTHING_LIKE_IT: overrides no key",
                   "environment variable AGENTD_A2A_BEARER: cannot be a secret itself: write a2a.bearer: {env: "
                   "AGENTD_A2A_BEARER}",
                   "environment variable AGENTD_LOG_LEVEL: log.level: is not a choice; expected one of debug, info, "
                   "warn, error"}));
  // An override does not hide that what is in its way is wrong.
  env_ = {{"HOME", "/h"}, {"AGENTD_A2A_EVENTS_RING", "5"}};
  EXPECT_EQ(faults("a2a: {events: 5}\n"),
            Texts{"1:7: a2a.events: is not a mapping; expected a mapping with members of enabled, ring, ring_bytes, "
                  "deadline, write_timeout, max_streams, max_streams_per_principal"});
}

TEST_F(Config, FindsTheStateFolder) {
  env_ = {{"XDG_STATE_HOME", "/state"}, {"HOME", "/h"}};
  EXPECT_EQ(good("").store.path, "/state/agentd");
  env_ = {{"XDG_STATE_HOME", "relative"}, {"HOME", "/h"}};
  EXPECT_EQ(good("").store.path, "/h/.local/state/agentd");
  env_ = {};
  EXPECT_EQ(good("store: {kind: memory}").store.path, "");
  const std::string file = write("agentd.yaml", "");
  EXPECT_EQ(to_string(load({.file = file, .env = {}}).error().at(0)),
            file + ": store.path: has no default, for neither XDG_STATE_HOME nor HOME is set; expected a path");
}

TEST_F(Config, ReadsWorkflowsInlineFromFilesAndFromFolders) {
  write("flows/b.yaml", "name: b\n");
  write("flows/a.yml", "name: a\n");
  write("flows/notes.txt", "not: [a workflow");
  write("one.yaml", "\nname: one\n");
  const Snapshot s = good(
      "workflows:\n  - flows\n  - {file: one.yaml}\n  - one.yaml\n  - name: in\n    steps:\n"
      "      count: {run: x}\n");
  ASSERT_EQ(s.workflows.size(), 5U);
  EXPECT_EQ(s.workflows[0].value["name"], "a");
  EXPECT_EQ(s.workflows[1].value["name"], "b");
  EXPECT_EQ(s.workflows[2].file, folder_ / "one.yaml");
  EXPECT_EQ(s.workflows[3].locate("name").line, 2);
  const Mark mark = s.workflows[4].locate("steps.count");
  EXPECT_EQ(mark.file, s.file);
  EXPECT_EQ(mark.line, 7);
  EXPECT_EQ(effective(s)["workflows"][2]["file"], (folder_ / "one.yaml").string());
  EXPECT_EQ(effective(s)["workflows"][4]["name"], "in");
}

TEST_F(Config, ReportsFaultsOfWorkflowFilesAfterItsOwn) {
  write("broken.yaml", "name: a\nname: b\n");
  EXPECT_EQ(faults("workflows:\n  - broken.yaml\n  - none.yaml\n  - 5\nlog: 5\n"),
            (Texts{"3:5: workflows[1]: the file cannot be read: No such file or directory",
                   "4:5: workflows[2]: is not a workflow; expected a mapping, {file: PATH}, or the path of a file "
                   "or folder",
                   "5:1: log: is not a mapping; expected a mapping with members of level, format",
                   (folder_ / "broken.yaml").string() + ":2:1: name: is given twice: on line 1 and on line 2"}));
}

TEST_F(Config, ReadsInstructionsFromAFile) {
  write("latin", "\xe9");
  write("long", std::string((256U << 10U) + 1, 'x'));
  EXPECT_EQ(faults("agent: {instructions: {file: latin}}"),
            Texts{"1:9: agent.instructions: the file cannot be read: it is not UTF-8"});
  EXPECT_EQ(faults("agent: {instructions: {file: long}}"),
            Texts{"1:9: agent.instructions: the file cannot be read: it is longer than 262144 bytes"});
  EXPECT_EQ(faults("agent: {instructions: {path: x}}"),
            Texts{"1:9: agent.instructions: is not a text; expected a text, or {file: PATH}"});
}

}  // namespace
}  // namespace agentd::config
