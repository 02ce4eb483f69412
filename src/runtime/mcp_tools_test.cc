#include "runtime/mcp_tools.h"

#include <gtest/gtest.h>

namespace agentd::runtime {
namespace {

TEST(ToolNames, AreWhatModelsTakeAndNoTwoAreTheSame) {
  ToolNames names;
  EXPECT_EQ(names.next("files", "read.file"), "files__read_file");
  const std::string second = names.next("files", "read_file");
  EXPECT_TRUE(second.starts_with("files__read_file_")) << second;
  EXPECT_NE(second, names.next("files", "read-file"));
  const std::string long_name = names.next("files", std::string(100, 'x'));
  EXPECT_EQ(long_name.size(), 64U);
  EXPECT_NE(long_name, names.next("files", std::string(101, 'x')));
}

TEST(ToolNames, AreTheSameForTheSameTools) {
  ToolNames one, other;
  for (const char* tool : {"a.b", "a_b", "a b"}) EXPECT_EQ(one.next("s", tool), other.next("s", tool));
}

}  // namespace
}  // namespace agentd::runtime
