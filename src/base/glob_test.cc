#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agentd {
namespace {

TEST(Glob, StarsTakeAnyNumberOfCharacters) {
  for (const auto& [glob, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"*", ""}, {"*", "anything"}, {"a*c", "ac"}, {"a*c", "abcabc"}, {"*b*", "abc"}, {"a**c", "abc"}}) {
    EXPECT_TRUE(matches_glob(glob, text)) << glob << " " << text;
  }
  for (const auto& [glob, text] : std::vector<std::pair<std::string, std::string>>{
           {"", "a"}, {"a", ""}, {"a", "ab"}, {"a*c", "ab"}, {"*b", "ba"}, {"workflow.*", "workflows.run"}}) {
    EXPECT_FALSE(matches_glob(glob, text)) << glob << " " << text;
  }
}

TEST(Glob, ManyStarsTakeNoLongTime) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "a*";
  EXPECT_FALSE(matches_glob(glob + "b", std::string(5'000, 'a')));
}

}  // namespace
}  // namespace agentd
