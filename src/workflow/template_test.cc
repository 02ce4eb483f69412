#include "workflow/template.h"

#include <gtest/gtest.h>

namespace agentd::workflow {
namespace {

std::vector<Piece> pieces(std::string_view text) {
  auto split = split_template(text);
  EXPECT_TRUE(split.has_value()) << text << ": " << (split ? "" : split.error());
  return split.value_or(std::vector<Piece>{});
}

std::string refusal(std::string_view text) {
  const auto split = split_template(text);
  return split ? "accepted" : split.error();
}

TEST(Template, SplitsSeveralExpressionsFromTheTextAroundThem) {
  EXPECT_EQ(pieces("a ${{ .x }}-${{.y}} b"),
            (std::vector<Piece>{{false, "a "}, {true, ".x"}, {false, "-"}, {true, ".y"}, {false, " b"}}));
  EXPECT_EQ(pieces("plain $x {{ }}"), (std::vector<Piece>{{false, "plain $x {{ }}"}}));
  EXPECT_TRUE(pieces("").empty());
}

TEST(Template, EndsAnExpressionOnlyOutsideOfItsStringsAndBrackets) {
  EXPECT_EQ(pieces("${{ {a: {b: 1}} }}"), (std::vector<Piece>{{true, "{a: {b: 1}}"}}));
  EXPECT_EQ(pieces("${{ {a: 1}}}!"), (std::vector<Piece>{{true, "{a: 1}"}, {false, "!"}}));
  EXPECT_EQ(pieces(R"(${{ "}} \" }}" }})"), (std::vector<Piece>{{true, R"("}} \" }}")"}}));
  EXPECT_EQ(pieces(R"(${{ "a\({b: "}}"} | .b)c" }}.)"),
            (std::vector<Piece>{{true, R"("a\({b: "}}"} | .b)c")"}, {false, "."}}));
  EXPECT_EQ(pieces("${{ .a # not }} here\n }}"), (std::vector<Piece>{{true, ".a # not }} here"}}));
}

TEST(Template, TakesTheEscapeAsText) {
  EXPECT_EQ(pieces("$${{ .x }}"), (std::vector<Piece>{{false, "${{ .x }}"}}));
  EXPECT_EQ(pieces("$$${{"), (std::vector<Piece>{{false, "$${{"}}));
}

TEST(Template, SaysWhatIsNotClosed) {
  EXPECT_NE(refusal("x ${{ .a").find("${{ .a: it is never closed by }}"), std::string::npos);
  EXPECT_NE(refusal("${{ \"abc }}").find("a string in it is never closed"), std::string::npos);
  EXPECT_NE(refusal("${{ (.a }}").find("a '}' in it closes nothing"), std::string::npos);
  EXPECT_NE(refusal("${{ .a) }}").find("a ')' in it closes nothing"), std::string::npos);
  EXPECT_NE(refusal("${{ }}").find("empty"), std::string::npos);
}

TEST(Template, RefusesWhatWouldBreakOutOfItsPlaceInTheProgram) {
  EXPECT_FALSE(check_expression(".a); def e1: (.b"));
  EXPECT_FALSE(check_expression("\"\\"));
  EXPECT_FALSE(check_expression(std::string(kExpressionBytes + 1, '1')));
  EXPECT_FALSE(check_expression(std::string_view(".a\0", 3)));
  EXPECT_TRUE(check_expression(".a # a comment with ) and \""));
}

TEST(Template, RefusesTheEnvironmentButNotNamesThatBeginLikeIt) {
  EXPECT_NE(refusal("${{ $ENV.HOME }}").find("environment"), std::string::npos);
  EXPECT_NE(refusal("${{ \"\\($ENV)\" }}").find("environment"), std::string::npos);
  EXPECT_TRUE(check_expression("1 as $ENVELOPE | $ENVELOPE"));
  EXPECT_TRUE(check_expression("\"$ENV\""));
}

}  // namespace
}  // namespace agentd::workflow
