#include "llm/scripted.h"

#include <gtest/gtest.h>

namespace agentd::llm {
namespace {

std::expected<ScriptedModel, std::vector<Fault>> parse_text(std::string_view yaml) {
  const auto document = parse_document(yaml, "rules.yaml");
  EXPECT_TRUE(document.has_value()) << (document ? "" : to_string(document.error().front()));
  return document ? ScriptedModel::parse(*document) : std::unexpected(document.error());
}

ScriptedModel model_of(std::string_view yaml) {
  auto model = parse_text(yaml);
  EXPECT_TRUE(model.has_value()) << (model ? "" : to_string(model.error().front()));
  return model ? *model : ScriptedModel::built_in();
}

// The only fault of a file whose only rule has this reply.
Fault fault_of_reply(const std::string& reply) {
  const auto model = parse_text("rules:\n  - when: {text: \"(a)(b)?\"}\n    reply: " + reply + "\n");
  EXPECT_FALSE(model.has_value()) << reply;
  if (model) return {};
  EXPECT_EQ(model.error().size(), 1U) << reply << (model.error().size() > 1 ? ": " + to_string(model.error()[1]) : "");
  return model.error().front();
}

std::string text_of(const Script& script) {
  const auto* text = script.actions.empty() ? nullptr : std::get_if<Text>(&script.actions.front());
  return text ? text->text : "no text";
}

TEST(ScriptedModel, EchoesAndSaysHowToWriteRulesWhenThereAreNone) {
  const Script script = ScriptedModel::built_in().answer({.text = "hi ${text}", .message_id = "m"});
  ASSERT_EQ(script.actions.size(), 2U);
  EXPECT_EQ(script.actions[0], Action(Text{"You said: hi ${text}"}));
  EXPECT_NE(std::get<Text>(script.actions[1]).text.find("docs/scripted-model.md"), std::string::npos);
  EXPECT_FALSE(script.direct_message);
}

TEST(ScriptedModel, TheFirstRuleWhoseConditionsAllHoldAnswers) {
  const ScriptedModel model = model_of(R"(
rules:
  - {when: {text: "(?i)hello", turn: 2}, reply: [{text: again}]}
  - {when: {text: "(?i)hello"}, reply: [{text: first}]}
  - {when: {message_id_prefix: tck-, turn: 1}, reply: [{text: prefix}]}
)");
  EXPECT_EQ(text_of(model.answer({.text = "oh, HELLO", .message_id = "tck-1", .turn = 1})), "first");
  EXPECT_EQ(text_of(model.answer({.text = "hello", .message_id = "m", .turn = 2})), "again");
  EXPECT_EQ(text_of(model.answer({.text = "x", .message_id = "tck-1", .turn = 1})), "prefix");
  EXPECT_EQ(text_of(model.answer({.text = "x", .message_id = "tck-1", .turn = 2})), "You said: x");
  EXPECT_EQ(text_of(model.answer({.text = "x", .message_id = "a-tck-", .turn = 1})), "You said: x");
}

TEST(ScriptedModel, ReadsEveryAction) {
  const ScriptedModel model = model_of(R"(
rules:
  - when: {text: work}
    reply:
      - {say: Looking}
      - {delay: 100ms}
      - {tool: {name: search, delay: 1s}}
      - artifact:
          name: data
          id: a-1
          description: What was found
          parts: [{text: t}, {raw: aGk=, mediaType: text/plain, filename: hi.txt}, {url: "https://x.example/"}, {data: null, metadata: {k: 1}}]
          append: true
          last_chunk: true
      - {chunks: {artifact: log, text: abc, size: 2, delay: 50ms}}
      - {text: Done}
      - {state: input_required, message: "Which one?"}
  - {when: {text: login}, reply: [{state: auth_required, message: Sign in}]}
  - {when: {text: run}, reply: [{workflow: {name: report, inputs: {dir: docs}}}]}
  - {when: {text: direct}, reply: [{delay: 1s}, {message: {parts: [{text: hi}]}}]}
)");
  const Script script = model.answer({.text = "work", .message_id = "m"});
  const Json parts = {{{"text", "t"}},
                      {{"raw", "aGk="}, {"mediaType", "text/plain"}, {"filename", "hi.txt"}},
                      {{"url", "https://x.example/"}},
                      {{"data", nullptr}, {"metadata", {{"k", 1}}}}};
  const std::vector<Action> expected = {
      Say{"Looking"},
      Delay{100},
      UseTool{"search", 1000},
      Artifact{"data", "a-1", "What was found", parts, true, true},
      Chunks{"log", "abc", 2, 50},
      Text{"Done"},
      SetState{State::kInputRequired, "Which one?"},
  };
  EXPECT_EQ(script.actions, expected);
  EXPECT_EQ(model.answer({.text = "login"}).actions, std::vector<Action>{(SetState{State::kAuthRequired, "Sign in"})});
  EXPECT_EQ(model.answer({.text = "run"}).actions, std::vector<Action>{(RunWorkflow{"report", {{"dir", "docs"}}})});
  const Script direct = model.answer({.text = "direct"});
  EXPECT_TRUE(direct.direct_message);
  EXPECT_EQ(direct.actions[1], Action(DirectMessage{Json::array({{{"text", "hi"}}})}));
}

TEST(ScriptedModel, FillsTheTextsOfEveryActionFromTheMessage) {
  const ScriptedModel model = model_of(R"(
rules:
  - when: {text: "report on (\\S+)( deep)?"}
    reply:
      - {say: "Looking at ${1}${2} of <${text}>"}
      - {artifact: {name: "${1}", parts: [{data: {dir: ["${1}", 5]}}, {text: "$${1} $1 $"}]}}
      - {chunks: {artifact: x, text: "${0}"}}
      - {workflow: {name: report, inputs: {dir: "${1}"}}}
)");
  const Script script = model.answer({.text = "please report on src/base now"});
  const Json parts = {{{"data", {{"dir", {"src/base", 5}}}}}, {{"text", "${1} $1 $"}}};
  ASSERT_EQ(script.actions.size(), 4U);
  EXPECT_EQ(script.actions[0], Action(Say{"Looking at src/base of <please report on src/base now>"}));
  EXPECT_EQ(script.actions[1], Action(Artifact{.name = "src/base", .id = "", .description = "", .parts = parts}));
  EXPECT_EQ(std::get<Chunks>(script.actions[2]).text, "report on src/base");
  EXPECT_EQ(std::get<RunWorkflow>(script.actions[3]).inputs, Json({{"dir", "src/base"}}));
}

TEST(ScriptedModel, ATextThatWasFilledInIsNotFilledAgain) {
  const ScriptedModel model = model_of("rules: [{reply: [{text: '${text}'}]}]");
  EXPECT_EQ(text_of(model.answer({.text = "${text} ${9}"})), "${text} ${9}");
}

TEST(ScriptedModel, BoundsAFilledText) {
  const ScriptedModel model = model_of("rules: [{reply: [{text: '${text}${text}${text}${text}'}]}]");
  const Script script = model.answer({.text = std::string(600'000, 'x')});
  EXPECT_LT(text_of(script).size(), (1U << 20U) + 40);
}

TEST(ScriptedModel, ReportsEveryFaultWithItsPlace) {
  const auto model = parse_text(R"(rules:
  - wen: {}
    reply: [{text: a}]
  - when: {text: "(", turn: 0, message: x}
    reply: [{text: "${2}"}]
  - reply:
      - {txt: a}
      - {text: "${unknown}"}
)");
  ASSERT_FALSE(model.has_value());
  std::map<std::string, const Fault*> by_path;
  for (const Fault& fault : model.error()) by_path[fault.path] = &fault;
  EXPECT_EQ(model.error().size(), by_path.size());
  for (const char* path : {"rules[0].wen", "rules[1].when.text", "rules[1].when.turn", "rules[1].when.message",
                           "rules[1].reply[0].text", "rules[2].reply[0].txt", "rules[2].reply[1].text"}) {
    ASSERT_TRUE(by_path.contains(path)) << path;
    EXPECT_EQ(by_path[path]->file, "rules.yaml");
  }
  EXPECT_EQ(by_path.size(), 7U);
  EXPECT_EQ(by_path["rules[2].reply[1].text"]->line, 8);
  EXPECT_NE(by_path["rules[0].wen"]->message.find("did you mean when?"), std::string::npos);
  EXPECT_NE(by_path["rules[2].reply[0].txt"]->message.find("did you mean text?"), std::string::npos);
}

TEST(ScriptedModel, RefusesRepliesThatMakeNoSense) {
  EXPECT_EQ(fault_of_reply("hello").path, "rules[0].reply");
  EXPECT_EQ(fault_of_reply("[{text: a, say: b}]").path, "rules[0].reply[0]");
  EXPECT_EQ(fault_of_reply("[{text: 5}]").path, "rules[0].reply[0].text");
  EXPECT_EQ(fault_of_reply("[{text: '${3}'}]").message, "${3}: the rule's expression has 2 groups");
  EXPECT_EQ(fault_of_reply("[{text: '${1'}]").path, "rules[0].reply[0].text");
  EXPECT_EQ(fault_of_reply("[{delay: 5}]").path, "rules[0].reply[0].delay");
  EXPECT_EQ(fault_of_reply("[{delay: 2h}]").path, "rules[0].reply[0].delay");
  EXPECT_EQ(fault_of_reply("[{state: done}]").path, "rules[0].reply[0].state");
  EXPECT_EQ(fault_of_reply("[{state: failed, text: x}]").path, "rules[0].reply[0].text");
  EXPECT_EQ(fault_of_reply("[{state: completed}, {text: x}]").path, "rules[0].reply[1]");
  EXPECT_EQ(fault_of_reply("[{workflow: {name: w}}, {text: x}]").path, "rules[0].reply[1]");
  EXPECT_EQ(fault_of_reply("[{text: x}, {message: {parts: [{text: y}]}}]").path, "rules[0].reply");
  EXPECT_EQ(fault_of_reply("[{message: {parts: []}}]").path, "rules[0].reply[0].message.parts");
  EXPECT_EQ(fault_of_reply("[{message: {parts: [{text: a, url: b}]}}]").path, "rules[0].reply[0].message.parts[0]");
  EXPECT_EQ(fault_of_reply("[{message: {parts: [{raw: '*'}]}}]").path, "rules[0].reply[0].message.parts[0].raw");
  EXPECT_EQ(fault_of_reply("[{artifact: {parts: [{text: a}]}}]").path, "rules[0].reply[0].artifact");
  EXPECT_EQ(fault_of_reply("[{artifact: {name: a, parts: [{data: 1, metadata: 2}]}}]").path,
            "rules[0].reply[0].artifact.parts[0].metadata");
  EXPECT_EQ(fault_of_reply("[{chunks: {artifact: a, text: b, size: 0}}]").path, "rules[0].reply[0].chunks.size");
  EXPECT_EQ(fault_of_reply("[{workflow: {name: a, inputs: [1]}}]").path, "rules[0].reply[0].workflow.inputs");
  EXPECT_EQ(fault_of_reply("[{tool: {delay: 1s}}]").path, "rules[0].reply[0].tool");
}

TEST(ScriptedModel, RefusesWhatIsNoListOfRules) {
  for (const char* text : {"[]", "rules: 5", "{}", "rules: [5]", "rules: [{when: {text: a}}]"}) {
    const auto model = parse_text(text);
    ASSERT_FALSE(model.has_value()) << text;
    EXPECT_EQ(model.error().size(), 1U) << text;
  }
}

TEST(ScriptedModel, SaysWhyAFileIsNotRead) {
  const auto model = ScriptedModel::load("/nonexistent/rules.yaml");
  ASSERT_FALSE(model.has_value());
  EXPECT_EQ(model.error().front().file, "/nonexistent/rules.yaml");
}

TEST(Chunks, AreCutAtCharacters) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(pieces({.artifact = "a", .text = "abcde", .size = 2}), (Texts{"ab", "cd", "e"}));
  EXPECT_EQ(pieces({.artifact = "a", .text = "é€x", .size = 1}), (Texts{"é", "€", "x"}));
  EXPECT_EQ(pieces({.artifact = "a", .text = "", .size = 3}), Texts{""});
  EXPECT_LE(pieces({.artifact = "a", .text = std::string(100'000, 'x'), .size = 1}).size(), 10'000U);
}

}  // namespace
}  // namespace agentd::llm
