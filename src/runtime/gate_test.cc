#include "runtime/gate.h"

#include <gtest/gtest.h>

namespace agentd::runtime {
namespace {

Json text(const std::string& said) { return {{"role", "ROLE_USER"}, {"parts", {{{"text", said}}}}}; }
Json data(const Json& said) { return {{"role", "ROLE_USER"}, {"parts", {{{"data", said}}}}}; }

Gate approval() { return {.kind = Gate::Kind::kApproval, .schema = approval_schema()}; }

TEST(Gate, AYesOrNoIsADecision) {
  for (const char* yes : {"yes", "Approve.", "OK", " y "}) {
    EXPECT_EQ(read_answer(approval(), text(yes)).value()["decision"], "approve") << yes;
  }
  for (const char* no : {"No!", "deny", "reject"}) {
    EXPECT_EQ(read_answer(approval(), text(no)).value()["decision"], "deny") << no;
  }
  EXPECT_EQ(read_answer(approval(), data({{"decision", "deny"}, {"reason", "not now"}})).value()["reason"], "not now");
}

TEST(Gate, ASubagentsAskingIsAnApprovalToo) {
  const Gate gate{.kind = Gate::Kind::kElicitation, .schema = approval_schema()};
  EXPECT_TRUE(gate.is_approval());
  EXPECT_EQ(read_answer(gate, text("yes")).value()["decision"], "approve");
  EXPECT_FALSE((Gate{.kind = Gate::Kind::kElicitation, .schema = {{"type", "object"}}}.is_approval()));
}

TEST(Gate, WhatDoesNotFitIsRefusedWithItsPlace) {
  const auto unclear = read_answer(approval(), text("well, perhaps"));
  ASSERT_FALSE(unclear.has_value());
  EXPECT_EQ(unclear.error().code, Code::kInvalidParams);
  EXPECT_EQ(unclear.error().violations.front().field, "message.parts[0].text");
  const auto wrong = read_answer(approval(), data({{"decision", "maybe"}}));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().violations.front().field, "message.parts[0].data.decision");
}

TEST(Gate, ATextIsFittedToASchemaWithOnePlaceForIt) {
  Gate gate{.schema = Json::parse(R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})")};
  EXPECT_EQ(read_answer(gate, text("Ada")).value(), Json({{"name", "Ada"}}));
  gate.schema = Json::parse(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}})");
  EXPECT_EQ(read_answer(gate, text(R"({"a":1,"b":2})")).value()["b"], 2);
  EXPECT_FALSE(read_answer(gate, text("one")).has_value());
  gate.schema = Json::parse(R"({"type":"string","enum":["main","dev"]})");
  EXPECT_EQ(read_answer(gate, text("dev")).value(), "dev");
  EXPECT_FALSE(read_answer(gate, text("prod")).has_value());
  gate.schema = Json::parse(R"({"properties":{"anything":true}})");
  EXPECT_EQ(read_answer(gate, text("dev")).value(), "dev");
  gate.schema = nullptr;
  EXPECT_EQ(read_answer(gate, text("anything")).value(), "anything");
}

TEST(Gate, WhatAToolAsksHasItsDefaultsWhereTheAnswerSaysNothing) {
  const Gate gate{.kind = Gate::Kind::kElicitation,
                  .schema = Json::parse(R"({"type":"object","required":["name","age"],"properties":{
                      "name":{"type":"string","default":"Ada"},"age":{"type":"integer","default":36},"more":{"type":"string"}}})")};
  EXPECT_EQ(read_answer(gate, data({{"name", "Eve"}})).value(), (Json{{"name", "Eve"}, {"age", 36}}));
  EXPECT_EQ(read_answer(gate, text("{}")).value(), (Json{{"name", "Ada"}, {"age", 36}}));
}

TEST(Gate, IsTheSameAfterTheStore) {
  const Gate gate{.id = "gate-1",
                  .kind = Gate::Kind::kElicitation,
                  .question = "Which?",
                  .schema = {{"type", "string"}},
                  .call = "c1",
                  .deadline_ms = 5,
                  .answered_by = "user:alice",
                  .answered_ms = 7};
  EXPECT_EQ(gate_from_json(to_json(gate)), gate);
}

}  // namespace
}  // namespace agentd::runtime
