#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "schema/validator.h"

namespace agentd::schema {
namespace {

Json json(std::string_view text) { return Json::parse(text); }

std::vector<FieldViolation> misses(std::string_view schema, std::string_view value) {
  const auto validator = compile(json(schema));
  if (!validator.has_value()) return {{.field = "schema", .description = validator.error().message}};
  return validator->validate(json(value));
}

bool meets(std::string_view schema, std::string_view value) { return misses(schema, value).empty(); }

std::string refusal(std::string_view schema) {
  const auto validator = compile(json(schema));
  return validator.has_value() ? "" : validator.error().message;
}

TEST(Validator, NamesEveryMissWithItsPath) {
  const auto found = misses(
      R"({"type":"object","required":["a","b"],"additionalProperties":false,
          "properties":{"a":{"type":"string"},"b":{"type":"integer"},
                        "list":{"type":"array","items":{"type":"object","properties":{"n":{"minimum":0}}}}}})",
      R"({"a":1,"x":true,"y":true,"list":[{"n":1},{"n":-1}]})");
  const auto has = [&](std::string_view field) {
    return std::ranges::any_of(found, [&](const FieldViolation& one) { return one.field == field; });
  };
  EXPECT_EQ(found.size(), 5U);
  for (const char* field : {"a", "b", "x", "y", "list[1].n"}) EXPECT_TRUE(has(field)) << field;
}

TEST(Validator, PrefixesPathsWithTheNameOfTheValue) {
  const auto validator = compile(json(R"({"type":"object","required":["op"]})"));
  ASSERT_TRUE(validator.has_value());
  EXPECT_EQ(validator->validate(json("{}"), "message.parts[0].data"),
            (std::vector<FieldViolation>{{"message.parts[0].data.op", "is required"}}));
  EXPECT_EQ(validator->validate(json("1"), "params"), (std::vector<FieldViolation>{{"params", "must be object"}}));
}

TEST(Validator, SaysWhatWouldBeRight) {
  EXPECT_EQ(misses(R"({"type":["string","null"]})", "1")[0].description, "must be string or null");
  EXPECT_EQ(misses(R"({"enum":["a",1]})", "2")[0].description, "must be one of \"a\", 1");
  EXPECT_EQ(misses(R"({"const":"a"})", "2")[0].description, "must be \"a\"");
}

TEST(Validator, FollowsLocalReferencesAndTheirSiblings) {
  constexpr auto kSchema = R"({"$defs":{"n":{"type":"integer"}},
      "properties":{"a":{"$ref":"#/$defs/n","minimum":3},"b":{"$ref":"#/properties/a"}}})";
  EXPECT_TRUE(meets(kSchema, R"({"a":3,"b":4})"));
  EXPECT_FALSE(meets(kSchema, R"({"a":2})"));
  EXPECT_FALSE(meets(kSchema, R"({"b":2})"));
  EXPECT_FALSE(meets(kSchema, R"({"b":"x"})"));
}

TEST(Validator, FollowsARecursiveSchemaIntoTheValue) {
  constexpr auto kTree = R"({"type":"object","additionalProperties":false,
      "properties":{"children":{"type":"array","items":{"$ref":"#"}}}})";
  EXPECT_TRUE(meets(kTree, R"({"children":[{"children":[]},{}]})"));
  EXPECT_EQ(misses(kTree, R"({"children":[{"children":[{"x":1}]}]})"),
            (std::vector<FieldViolation>{{"children[0].children[0].x", "is not a known member"}}));
}

TEST(Validator, AppliesConditionsAndAlternatives) {
  constexpr auto kIf = R"({"if":{"properties":{"k":{"const":"a"}},"required":["k"]},
      "then":{"required":["x"]},"else":{"required":["y"]}})";
  EXPECT_TRUE(meets(kIf, R"({"k":"a","x":1})"));
  EXPECT_TRUE(meets(kIf, R"({"k":"b","y":1})"));
  EXPECT_EQ(misses(kIf, R"({"k":"a","y":1})"), (std::vector<FieldViolation>{{"x", "is required"}}));
  constexpr auto kOne = R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})";
  EXPECT_TRUE(meets(kOne, R"({"a":1})"));
  EXPECT_FALSE(meets(kOne, R"({"a":1,"b":1})"));
  EXPECT_FALSE(meets(kOne, R"({})"));
  EXPECT_FALSE(meets(R"({"not":{"type":"null"}})", "null"));
  EXPECT_FALSE(meets(R"({"anyOf":[{"type":"null"},{"minimum":3}]})", "2"));
  EXPECT_FALSE(meets(R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "2"));
}

TEST(Validator, TakesBooleanSchemas) {
  EXPECT_TRUE(meets("true", "1"));
  EXPECT_FALSE(meets("false", "1"));
  EXPECT_EQ(misses(R"({"properties":{"a":false}})", R"({"a":1})").size(), 1U);
  EXPECT_TRUE(meets(R"({"items":true})", "[1]"));
  EXPECT_FALSE(meets(R"({"items":false})", "[1]"));
}

TEST(Validator, CountsCharactersAndMatchesAnywhere) {
  EXPECT_TRUE(meets(R"({"maxLength":2,"minLength":2})", "\"\xC3\xA9\xF0\x9F\x98\x80\""));
  EXPECT_FALSE(meets(R"({"maxLength":2})", R"("a\u0000b")"));
  EXPECT_TRUE(meets(R"({"pattern":"b+"})", R"("abbc")"));
  EXPECT_FALSE(meets(R"({"pattern":"^b"})", R"("abbc")"));
  EXPECT_FALSE(meets(R"({"pattern":"^(a+)+$"})", "\"" + std::string(100'000, 'a') + "b\""));
}

TEST(Validator, KnowsTheNumbersOfJson) {
  EXPECT_TRUE(meets(R"({"type":"integer","minimum":0})", "18446744073709551615"));
  EXPECT_TRUE(meets(R"({"type":"integer"})", "2.0"));
  EXPECT_FALSE(meets(R"({"type":"integer"})", "2.5"));
  EXPECT_FALSE(meets(R"({"multipleOf":2})", "3"));
  EXPECT_FALSE(meets(R"({"multipleOf":2})", "2.5"));
  EXPECT_FALSE(meets(R"({"exclusiveMinimum":0})", "0"));
}

TEST(Validator, HoldsPropertyNamesToASchemaEvenBehindAReference) {
  constexpr auto kSchema = R"({"$defs":{"m":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}},
      "properties":{"a":{"$ref":"#/$defs/m"}}})";
  EXPECT_TRUE(meets(kSchema, R"({"a":{"x":1}})"));
  EXPECT_FALSE(meets(kSchema, R"({"a":{"X":1}})"));
}

TEST(Validator, RefusesWhatItWouldOtherwiseIgnore) {
  for (const char* keyword : {"prefixItems", "unevaluatedItems", "unevaluatedProperties", "dependentRequired",
                              "dependentSchemas", "$dynamicRef", "minContains", "maxContains", "patternProperties"}) {
    const Json schema = {{"properties", {{"a", {{keyword, Json::object()}}}}}};
    const auto validator = compile(schema);
    ASSERT_FALSE(validator.has_value()) << keyword;
    EXPECT_NE(validator.error().message.find(keyword), std::string::npos);
    EXPECT_NE(validator.error().message.find("#/properties/a"), std::string::npos) << validator.error().message;
  }
  // Such a name may still be a member's, or stand in data.
  EXPECT_TRUE(meets(R"({"properties":{"prefixItems":{"type":"string"}},"examples":[{"$dynamicRef":1}]})",
                    R"({"prefixItems":"x"})"));
}

TEST(Validator, RefusesSchemasThatCannotBeFollowed) {
  EXPECT_NE(refusal(R"({"$ref":"https://example.com/x"})").find("JSON pointer"), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref":"#anchor"})").find("JSON pointer"), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref":"#/$defs/none"})").find("where no schema is"), std::string::npos);
  EXPECT_NE(refusal(R"({"$ref":"#"})").find("refers to itself"), std::string::npos);
  EXPECT_NE(
      refusal(R"({"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}})").find("refers to itself"),
      std::string::npos);
}

TEST(Validator, RefusesMalformedSchemas) {
  for (const char* bad :
       {"1", R"({"type":"strin"})", R"({"type":1})", R"({"enum":1})", R"({"multipleOf":0})", R"x({"pattern":"("})x",
        R"x({"pattern":"(?=x)"})x", R"({"minLength":-1})", R"({"properties":[]})", R"({"allOf":{}})",
        R"({"required":"a"})", R"({"minimum":"0"})", R"({"properties":{"a":{"$id":"x"}}})"}) {
    EXPECT_NE(refusal(bad), "") << bad;
  }
}

TEST(Validator, TakesFormatForAnAnnotation) { EXPECT_TRUE(meets(R"({"format":"date-time"})", R"("no date")")); }

}  // namespace
}  // namespace agentd::schema
