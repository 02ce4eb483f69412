#include "runtime/skills.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "runtime/mcp_tools.h"

namespace agentd::runtime {
namespace {

class SkillsTest : public testing::Test {
 protected:
  void write(const std::string& skill, const std::string& text) {
    std::filesystem::create_directories(folder_.path() + "/" + skill);
    std::ofstream(folder_.path() + "/" + skill + "/SKILL.md") << text;
  }
  // The messages of the faults, with the file's last folder.
  std::vector<std::string> faults() const {
    const auto loaded = load_skills({folder_.path()});
    std::vector<std::string> out;
    if (loaded) return out;
    for (const Fault& fault : loaded.error()) {
      const std::filesystem::path file(fault.file);
      out.push_back(file.parent_path().filename().string() + ": " + (fault.path.empty() ? "" : fault.path + " ") +
                    fault.message);
    }
    return out;
  }

  TemporaryFolder folder_;
};

TEST_F(SkillsTest, AreReadByNameAndDescription) {
  write("release", "---\nname: release\ndescription: How a release is made.\nlicense: MIT\n---\nFirst\nthen\n");
  write("alone", "---\nname: alone\ndescription: Nothing more.\n---");
  std::filesystem::create_directories(folder_.path() + "/empty");
  const auto skills = load_skills({folder_.path()}).value();
  ASSERT_EQ(skills.size(), 2U);
  EXPECT_EQ(skills[0].body, "");
  EXPECT_EQ(skills[1].description, "How a release is made.");
  EXPECT_EQ(skills[1].body, "First\nthen\n");
  EXPECT_EQ(load_skills({folder_.path() + "/release"}).value().size(), 1U) << "a folder may be one itself";
}

TEST_F(SkillsTest, EveryFaultIsNamed) {
  write("a", "no head");
  write("b", "---\nname: b\n---\n");
  write("c", "---\nname: same\ndescription: one\n---\n");
  write("d", "---\nname: same\ndescription: two\n---\n");
  write("e", "---\nname: [\n---\n");
  const auto found = faults();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], "a: must begin with a block of name and description between two lines of ---");
  EXPECT_EQ(found[1], "b: description must be a text");
  EXPECT_EQ(found[2], "d: name is the name of another skill too");
  EXPECT_TRUE(found[3].starts_with("e: ")) << found[3];
}

TEST(ToolCalls, HaveIdsOfTheirOwn) {
  std::vector<llm::ToolCall> calls = {{.id = "a"}, {.id = "a"}, {.id = "a-2"}, {.id = "b"}};
  make_ids_unique(calls);
  EXPECT_EQ(calls[0].id, "a");
  EXPECT_EQ(calls[1].id, "a-2");
  EXPECT_EQ(calls[2].id, "a-2-2");
  EXPECT_EQ(calls[3].id, "b");
}

}  // namespace
}  // namespace agentd::runtime
