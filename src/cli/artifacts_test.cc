#include "cli/artifacts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/temporary_folder.h"

namespace agentd::cli {
namespace {

namespace fs = std::filesystem;

class Artifacts : public testing::Test {
 protected:
  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(Artifacts, NoNameLeavesTheFolder) {
  const std::vector<Json> evil = {Json::parse(R"({"artifactId":"x","parts":[
    {"text":"1","filename":"../../etc/passwd"},{"text":"2","filename":"/abs"},{"text":"3","filename":".."},
    {"text":"4","filename":".bashrc"},{"text":"5","filename":"a\\..\\b.txt"}]})")};
  const fs::path out = root_ / "out" / "deep";
  const auto paths = write_artifacts(evil, out.string());
  ASSERT_TRUE(paths) << paths.error().message;
  std::vector<std::string> names;
  for (const auto& path : *paths) {
    EXPECT_EQ(fs::path(path).parent_path(), out);
    names.push_back(fs::path(path).filename());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"passwd", "abs", "artifact", "bashrc", "b.txt"}));
}

TEST_F(Artifacts, NothingIsWrittenOverAndNoLinkIsFollowed) {
  std::ofstream(root_ / "report.md") << "mine";
  fs::create_symlink(root_ / "target", root_ / "report-2.md");
  const std::vector<Json> artifacts = {
      Json::parse(R"({"artifactId":"x","name":"report.md","parts":[{"text":"new"}]})")};
  const auto paths = write_artifacts(artifacts, root_.string());
  ASSERT_TRUE(paths);
  EXPECT_EQ(fs::path((*paths)[0]).filename(), "report-3.md");
  EXPECT_EQ(content(root_ / "report.md"), "mine");
  EXPECT_EQ(content(root_ / "report-3.md"), "new");
  EXPECT_FALSE(fs::exists(root_ / "target"));
}

TEST_F(Artifacts, BytesDataAndTextBecomeFilesAndLinksDoNot) {
  const std::vector<Json> artifacts = {Json::parse(R"({"artifactId":"x","name":"result","parts":[
    {"raw":"AP+A"},{"data":{"a":1}},{"text":"t","mediaType":"text/markdown"},{"url":"https://x"}]})")};
  const auto paths = write_artifacts(artifacts, root_.string());
  ASSERT_TRUE(paths);
  ASSERT_EQ(paths->size(), 3U);
  EXPECT_EQ(content(root_ / "result.bin"), std::string("\0\xff\x80", 3));
  EXPECT_EQ(content(root_ / "result.json"), "{\n  \"a\": 1\n}\n");
  EXPECT_EQ(content(root_ / "result.md"), "t");
}

TEST_F(Artifacts, AFolderThatCannotBeIsAFaultOfTheCommandLine) {
  std::ofstream(root_ / "file") << "x";
  EXPECT_EQ(write_artifacts({}, (root_ / "file").string()).error().code, Code::kConfig);
}

TEST(SafeFileName, IsBoundedAndNeverEmpty) {
  EXPECT_EQ(safe_file_name(std::string(500, 'x')).size(), 120U);
  EXPECT_EQ(safe_file_name("a\nb"), "a_b");
  EXPECT_EQ(safe_file_name(""), "artifact");
  EXPECT_EQ(safe_file_name("x/"), "artifact");
}

TEST(Base64, KnownAnswersAndRefusals) {
  EXPECT_EQ(decode_base64("Zm9vYg=="), "foob");
  EXPECT_EQ(decode_base64("Zm9vYmE"), "fooba");
  EXPECT_EQ(decode_base64("-_-_").value(), decode_base64("+/+/").value());
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_FALSE(decode_base64("Zm9v!"));
  EXPECT_FALSE(decode_base64("Zm9vY"));
}

}  // namespace
}  // namespace agentd::cli
