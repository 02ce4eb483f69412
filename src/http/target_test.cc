#include "http/target.h"

#include <gtest/gtest.h>

namespace agentd::http {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

TEST(Target, DecodesPathAndQueryByTheirOwnRules) {
  const auto target = parse_target("/a+b%2Bc%2fd?q=a+b%2B&empty=&&flag&q=2&=x", "GET");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a+b+c/d");
  EXPECT_EQ(target->query, (Query{{"q", "a b+"}, {"empty", ""}, {"flag", ""}, {"q", "2"}, {"", "x"}}));
}

TEST(Target, CutsTheQueryAtTheFirstMarkBeforeDecoding) {
  const auto target = parse_target("/a%3Fb?c=d?e=f", "GET");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->path, "/a?b");
  EXPECT_EQ(target->query, (Query{{"c", "d?e=f"}}));
}

TEST(Target, TakesTheHostOfAnAbsoluteOne) {
  const auto target = parse_target("HTTP://host:80?x=1", "GET");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->authority, "host:80");
  EXPECT_EQ(target->path, "/");
  EXPECT_EQ(target->query, (Query{{"x", "1"}}));
}

TEST(Target, RefusesWhatCannotBeReadOneWay) {
  for (const char* text :
       {"", "a", "http://", "http:///x", "/ ", "/\x7f", "/%", "/%4", "/%4x", "/%00", "/?%", "/?a=%e4"}) {
    EXPECT_FALSE(parse_target(text, "GET").has_value()) << text;
  }
}

TEST(Form, IsEscaped) {
  EXPECT_EQ(form_of({{"a", "x&y=z /+é"}, {"b", ""}, {"c", "A-z_0.9~"}}), "a=x%26y%3Dz%20%2F%2B%C3%A9&b=&c=A-z_0.9~");
}

}  // namespace
}  // namespace agentd::http
