#include "workflow/expressions.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/temporary_folder.h"

namespace agentd::workflow {
namespace {

std::shared_ptr<const Expressions> compiled(const std::vector<std::string>& sources) {
  auto result = Expressions::compile(sources);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().front().reason);
  return result ? *result : nullptr;
}

Result<Json> evaluate(const std::string& source, const Json& context = Json::object()) {
  return compiled({source})->evaluate(source, JqValue(context));
}

std::string error_of(const std::string& source) {
  const auto result = evaluate(source);
  return result ? "gave " + dump_json(*result) : result.error().message;
}

TEST(Expressions, FindsEachAmongMany) {
  std::vector<std::string> sources;
  for (int i = 0; i < 67; ++i) sources.push_back(".n + " + std::to_string(i));
  sources.push_back(".n + 3");  // twice is once
  const auto all = compiled(sources);
  const JqValue context(Json{{"n", 1000}});
  for (int i = 0; i < 67; ++i)
    EXPECT_EQ(all->evaluate(sources[static_cast<std::size_t>(i)], context).value(), 1000 + i);
}

TEST(Expressions, NamesEveryOneThatDoesNotCompileWithTheReasonOfJq) {
  const auto result = Expressions::compile({".a", ".b |", "nosuch(.c)", ".d", "$x", ".e 'q'"});
  ASSERT_FALSE(result.has_value());
  const auto& refused = result.error();
  ASSERT_EQ(refused.size(), 4U);
  EXPECT_EQ(refused[0].source, ".b |");
  EXPECT_EQ(refused[0].reason.find("syntax error, unexpected end"), 0U) << refused[0].reason;
  EXPECT_EQ(refused[1].reason, "nosuch/1 is not defined");
  EXPECT_EQ(refused[2].reason, "$x is not defined");
  EXPECT_EQ(refused[3].source, ".e 'q'");
}

TEST(Expressions, ADefinitionInOneIsNotSeenByAnother) {
  const auto result = Expressions::compile({"def twice: . * 2; 2 | twice", "3 | twice"});
  ASSERT_FALSE(result.has_value());
  ASSERT_EQ(result.error().size(), 1U);
  EXPECT_EQ(result.error()[0].reason, "twice/0 is not defined");
}

TEST(Expressions, TakeTheFirstResultAndRefuseNone) {
  EXPECT_EQ(evaluate("1, error(\"never reached\")").value(), 1);
  EXPECT_NE(error_of("empty").find("`empty`: it has no result"), std::string::npos);
}

TEST(Expressions, ReportWhatTheProgramRaised) {
  EXPECT_EQ(error_of("error(\"my words\")"), "`error(\"my words\")`: my words");
  EXPECT_NE(error_of("error({a: 1})").find(R"({"a":1})"), std::string::npos);
  EXPECT_NE(error_of("1 + {}").find("cannot be added"), std::string::npos);
}

TEST(Expressions, GoOnAfterAnError) {
  const auto all = compiled({"error(\"x\")", "halt", "1"});
  const JqValue context(nullptr);
  EXPECT_FALSE(all->evaluate("error(\"x\")", context));
  EXPECT_FALSE(all->evaluate("halt", context));
  EXPECT_EQ(all->evaluate("1", context).value(), 1);
}

TEST(Expressions, SeeNothingOfTheDaemon) {
  ::setenv("AGENTD_TEST_SECRET", "canary", 1);
  for (const char* source : {"env", "env.AGENTD_TEST_SECRET", "input", "[inputs]", "debug", "stderr", "input_filename",
                             "halt", "halt_error", "\"x\" | halt_error(1)", "\"x\" | modulemeta", "get_search_list"}) {
    EXPECT_NE(error_of(source).find("is not available in a workflow"), std::string::npos) << error_of(source);
  }
  // Past check_expression, which refuses it when the workflow is loaded.
  EXPECT_EQ(evaluate("$ENV").value(), Json::object());
  EXPECT_EQ(evaluate(".inputs.env", {{"inputs", {{"env", 1}}}}).value(), 1);
  ::unsetenv("AGENTD_TEST_SECRET");
}

TEST(Expressions, CarryEveryKindOfValueThereAndBack) {
  const Json value = {
      {"z", nullptr}, {"a", {true, false, -3, 2.5, "é\n"}}, {"b", Json::object()}, {"n", 9007199254740992}};
  EXPECT_EQ(dump_json(evaluate(".", value).value()), dump_json(value));
  EXPECT_EQ(evaluate("nan").value(), nullptr);
  EXPECT_EQ(evaluate("1e19").value(), 1e19);
  EXPECT_EQ(evaluate("infinite").value(), std::numeric_limits<double>::max());
  EXPECT_EQ(evaluate("\"a\\u0000b\"").value(), Json(std::string("a\0b", 3)));
}

TEST(Expressions, BoundTheirResults) {
  EXPECT_NE(error_of("reduce range(129) as $i (0; [.])").find("deeper than 128"), std::string::npos);
  EXPECT_TRUE(evaluate("reduce range(128) as $i (0; [.])").has_value());
  EXPECT_NE(error_of("[range(1100000)]").find("longer than"), std::string::npos);
  EXPECT_NE(error_of("reduce range(4097) as $i ({}; .[\"k\\($i)\"] = 0)").find("4096 members"), std::string::npos);
}

TEST(Expressions, FillTemplatesWithValuesOrText) {
  const auto all = compiled({".n", ".s", ".o"});
  const JqValue context(Json{{"n", 5}, {"s", "text"}, {"o", {{"k", nullptr}}}});
  EXPECT_EQ(all->value_of("${{ .n }}", context).value(), 5);
  EXPECT_EQ(all->value_of("${{.o}}", context).value(), Json({{"k", nullptr}}));
  EXPECT_EQ(all->value_of("${{ .s }}/${{ .o }} ${{ .n }}", context).value(), "text/{\"k\":null} 5");
  EXPECT_EQ(all->value_of("", context).value(), "");
  EXPECT_EQ(all->text_of("${{ .n }}", context).value(), "5");
  EXPECT_EQ(all->text_of("${{ .s }}", context).value(), "text");
}

// Run in a child process: it changes HOME, and jq leaks what it read of a file that it cannot read to the
// end.
TEST(Expressions, BlameTheJqFileOfTheUserForItsOwnFaults) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/.jq") << "def broken: (";
  const auto blame = [&folder] {
    ::setenv("HOME", folder.path().c_str(), 1);
    const auto result = Expressions::compile({".a", ".b"});
    const bool one = !result && result.error().size() == 1 && result.error()[0].source.empty();
    std::fputs(one ? result.error()[0].reason.c_str() : "not one refusal of the whole", stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(blame(), testing::ExitedWithCode(0), "syntax error, unexpected end .in ~/.jq");
}

TEST(Expressions, ThereMayBeNone) { EXPECT_EQ(compiled({})->value_of("$${{ }}", JqValue(nullptr)).value(), "${{ }}"); }

}  // namespace
}  // namespace agentd::workflow
