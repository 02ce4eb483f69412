#include "daemon/setup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/ids.h"

namespace agentd::daemon {
namespace {

using Texts = std::vector<std::string>;

class SetupTest : public testing::Test {
 protected:
  SetupTest() : folder_(std::filesystem::path(testing::TempDir()) / ("setup" + random_hex(8))) {
    std::filesystem::create_directory(folder_);
  }
  ~SetupTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = folder_ / name;
    std::ofstream(file) << text;
    return file;
  }
  std::expected<daemon::Setup, std::vector<Fault>> load(std::string_view text) const {
    return load_setup(write("agentd.yaml", text));
  }
  // "file:line path" of each fault, the file without its folder.
  Texts places(std::string_view text) const {
    const auto setup = load(text);
    Texts out;
    if (setup) return out;
    for (const Fault& fault : setup.error()) {
      out.push_back(std::filesystem::path(fault.file).filename().string() + ":" + std::to_string(fault.line) + " " +
                    fault.path);
      EXPECT_FALSE(fault.message.empty());
    }
    return out;
  }

  const std::filesystem::path folder_;
};

TEST_F(SetupTest, TheDefaultsAreASetup) {
  const auto setup = load("{}");
  ASSERT_TRUE(setup.has_value());
  EXPECT_TRUE(setup->workflows.empty());
  EXPECT_EQ(setup->model.answer({.text = "hi"}).actions.size(), 2U);
}

TEST_F(SetupTest, ReadsWorkflowsOfFilesAndInlineOnesAndTheModelsRules) {
  write("one.yaml", "name: one\nsteps: {a: {exec: [x]}}\n");
  write("rules.yaml", "rules: [{reply: [{text: yes}]}]");
  const auto setup = load(R"(
agent: {model: {provider: scripted, script: rules.yaml}}
workflows:
  - {file: one.yaml}
  - {name: two, steps: {a: {exec: [x]}}}
)");
  ASSERT_TRUE(setup.has_value()) << to_string(setup.error().front());
  ASSERT_EQ(setup->workflows.size(), 2U);
  EXPECT_EQ(setup->workflows[0]->name, "one");
  EXPECT_EQ(setup->workflows[1]->name, "two");
  EXPECT_EQ(setup->model.answer({.text = "hi"}).actions.front(), llm::Action(llm::Text{"yes"}));
}

TEST_F(SetupTest, TheBuiltInRulesStandInForAModelOfElsewhere) {
  const auto setup = load("agent: {model: {provider: openai, model: m, endpoint: http://127.0.0.1:1/v1}}\n");
  ASSERT_TRUE(setup.has_value()) << to_string(setup.error().front());
  EXPECT_EQ(setup->model.answer({.text = "hi"}).actions.size(), 2U);
}

TEST_F(SetupTest, EveryFaultOfEveryFileIsToldWithItsPlace) {
  write("one.yaml", "name: one\nsteps:\n  a:\n    exec: [x]\n    tiemout: 1s\n");
  write("rules.yaml", "rules:\n  - reply:\n      - {txt: yes}\n");
  EXPECT_EQ(
      places(R"(agent: {model: {provider: scripted, script: rules.yaml}}
workflows:
  - {file: one.yaml}
  - name: two
    steps:
      a: {exec: [x], needs: [b]}
)"),
      (Texts{"one.yaml:5 steps.a.tiemout", "agentd.yaml:6 steps.a.needs[0]", "rules.yaml:3 rules[0].reply[0].txt"}));
}

TEST_F(SetupTest, InputsThatAreNoSchemaAreAFault) {
  write("one.yaml", "name: one\nsteps: {a: {exec: [x]}}\ninputs:\n  type: objekt\n");
  EXPECT_EQ(places("workflows:\n  - {file: one.yaml}\n"), Texts{"one.yaml:3 inputs"});
}

TEST_F(SetupTest, TwoWorkflowsOfOneNameAreAFaultThatNamesTheOther) {
  write("one.yaml", "name: one\nsteps: {a: {exec: [x]}}\n");
  write("two.yaml", "steps: {a: {exec: [x]}}\nname: one\n");
  const auto setup = load("workflows:\n  - {file: one.yaml}\n  - {file: two.yaml}\n");
  ASSERT_FALSE(setup.has_value());
  ASSERT_EQ(setup.error().size(), 1U);
  const Fault& fault = setup.error().front();
  EXPECT_TRUE(fault.file.ends_with("/two.yaml")) << fault.file;
  EXPECT_EQ(fault.line, 2);
  EXPECT_TRUE(fault.message.ends_with("/one.yaml")) << fault.message;
}

TEST_F(SetupTest, AnOpIsOfOneWorkflowAndNotTheDaemonsOwn) {
  write("one.yaml", "name: one\nsteps: {a: {exec: [x]}}\nstart:\n  a2a:\n    command: report\n");
  write("two.yaml", "name: two\nsteps: {a: {exec: [x]}}\nstart:\n  a2a: {command: report}\n");
  const auto setup = load("workflows:\n  - {file: one.yaml}\n  - {file: two.yaml}\n");
  ASSERT_FALSE(setup.has_value());
  ASSERT_EQ(setup.error().size(), 1U);
  const Fault& fault = setup.error().front();
  EXPECT_TRUE(fault.file.ends_with("/two.yaml")) << fault.file;
  EXPECT_EQ(fault.line, 4);
  EXPECT_EQ(fault.path, "start.a2a.command");
  EXPECT_TRUE(fault.message.ends_with("/one.yaml")) << fault.message;
  write("two.yaml", "name: two\nstart: {a2a: {command: workflow.run}}\nsteps: {a: {exec: [x]}}\n");
  EXPECT_EQ(places("workflows:\n  - {file: one.yaml}\n  - {file: two.yaml}\n"), Texts{"two.yaml:2 start.a2a.command"});
}

TEST_F(SetupTest, ASchemaOfAnOpThatCannotBeHeldIsAFault) {
  write("one.yaml",
        "name: one\nsteps: {a: {exec: [x]}}\nstart:\n  a2a:\n    command: report\n    schema:\n"
        "      properties: {n: {unevaluatedItems: false}}\n");
  const auto setup = load("workflows:\n  - {file: one.yaml}\n");
  ASSERT_FALSE(setup.has_value());
  ASSERT_EQ(setup.error().size(), 1U);
  EXPECT_EQ(setup.error().front().path, "start.a2a.schema");
  EXPECT_EQ(setup.error().front().line, 6);
  EXPECT_NE(setup.error().front().message.find("/properties/n"), std::string::npos) << setup.error().front().message;
}

TEST_F(SetupTest, AFileOfRulesThatIsNotThereIsAFaultOfTheConfigurationOrTheFile) {
  const auto setup = load("agent: {model: {provider: scripted, script: missing.yaml}}\n");
  ASSERT_FALSE(setup.has_value());
  EXPECT_EQ(setup.error().size(), 1U);
}

}  // namespace
}  // namespace agentd::daemon
