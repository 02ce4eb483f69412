#include <gtest/gtest.h>

#include "a2a/card.h"
#include "a2a/extensions.h"
#include "a2a/shapes.h"
#include "a2a/states.h"

namespace agentd::a2a {
namespace {

Json parsed(const char* text) { return parse_json(text).value(); }

TEST(Shapes, TakeBothSpellingsAndGiveOne) {
  const auto out = read_shape(kSendMessageRequest, parsed(R"({"message":{"message_id":"m","role":1,"context_id":"c",
      "parts":[{"text":"hi","media_type":"text/plain"},{"data":null}],"unknown":1},
      "configuration":{"return_immediately":true,"historyLength":"2","acceptedOutputModes":null}})"),
                              "params");
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(
      dump_json(*out),
      R"({"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hi","mediaType":"text/plain"},)"
      R"({"data":null}]},"configuration":{"historyLength":2,"returnImmediately":true}})");
}

TEST(Shapes, TakeAnEmptyStringForALeftOutFieldButNotForAPart) {
  const auto out =
      read_shape(kMessage, parsed(R"({"messageId":"m","role":"ROLE_USER","contextId":"","parts":[{"text":""}]})"), "m");
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->contains("contextId"));
  EXPECT_EQ((*out)["parts"][0]["text"], "");
}

TEST(Shapes, NameEveryViolation) {
  const auto out = read_shape(kSendMessageRequest, parsed(R"({"message":{"messageId":"","role":"ROLE_X",
      "parts":[{"text":"a","url":"b"},{"raw":"!"}],"metadata":[]}})"),
                              "params");
  ASSERT_FALSE(out);
  std::vector<std::string> fields;
  for (const auto& violation : out.error().violations) fields.push_back(violation.field);
  EXPECT_EQ(fields,
            (std::vector<std::string>{"params.message.messageId", "params.message.role", "params.message.parts[0]",
                                      "params.message.parts[1].raw", "params.message.metadata"}));
}

TEST(Shapes, NameAHundredViolationsAtMost) {
  Json message = parsed(R"({"messageId":"m","role":"ROLE_USER","parts":[]})");
  for (int i = 0; i < 10'000; ++i) message["parts"].push_back(1);
  EXPECT_EQ(read_shape(kMessage, message, "m").error().violations.size(), 100U);
}

TEST(Shapes, IntegersComeAsNumbersOrStringsWithin32Bits) {
  const auto length = [](const char* text) { return read_shape(kGetTaskRequest, parsed(text), "params"); };
  EXPECT_EQ((*length(R"({"id":"x","historyLength":3.0})"))["historyLength"], 3);
  for (const char* bad : {R"({"id":"x","historyLength":1.5})", R"({"id":"x","historyLength":2147483648})",
                          R"({"id":"x","historyLength":"1e3"})", R"({"id":"x","historyLength":18446744073709551615})",
                          R"({"id":"x","historyLength":1e300})"}) {
    EXPECT_FALSE(length(bad)) << bad;
  }
}

TEST(Shapes, BytesTakeEitherAlphabetAndGiveTheStandardOne) {
  const auto out = read_shape(kMessage, parsed(R"({"messageId":"m","role":"ROLE_USER","parts":[{"raw":"-_8"}]})"), "m");
  EXPECT_EQ((*out)["parts"][0]["raw"], "+/8=");
}

TEST(Extensions, FollowTheHeaderRules) {
  Extensions all;
  for (const Extension extension : kExtensions) all.add(extension);
  const std::string events(uri(Extension::kEvents));
  EXPECT_EQ(echo(activated(" , " + events + ",x," + std::string(uri(Extension::kCommand)), all)),
            std::string(uri(Extension::kCommand)) + ", " + events);
  EXPECT_TRUE(activated(events, {}).empty());
  EXPECT_TRUE(activated(events + "/", all).empty());
  EXPECT_FALSE(activated("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a," + events, all).empty());
}

TEST(Extensions, LookAtThirtyTwoTokensAndDropTheRest) {
  Extensions all;
  for (const Extension extension : kExtensions) all.add(extension);
  const std::string events(uri(Extension::kEvents));
  const auto behind = [&](int count, const std::string& stem) {
    std::string header;
    for (int i = 0; i < count; ++i) header += stem + std::to_string(i) + ",";
    return !activated(header + events, all).empty();
  };
  EXPECT_TRUE(behind(31, "urn:"));
  EXPECT_FALSE(behind(32, "urn:"));
  EXPECT_TRUE(behind(31, std::string(kMaxTokenBytes, 'u')));
  EXPECT_FALSE(behind(32, std::string(kMaxTokenBytes, 'u'))) << "a token that is too long counts all the same";
  EXPECT_TRUE(activated(std::string(1000, ',') + " \t," + events + "\t ,", all).has(Extension::kEvents));
}

TEST(Extensions, ARequiredOneMustBeNamed) {
  Extensions events, both;
  events.add(Extension::kEvents);
  both.add(Extension::kEvents);
  both.add(Extension::kCommand);
  EXPECT_TRUE(check_required({}, {}));
  EXPECT_TRUE(check_required(events, both));
  const auto refused = check_required(events, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExtensionSupportRequired);
  EXPECT_NE(refused.error().message.find(uri(Extension::kEvents)), std::string::npos);
  const auto missing = [&](const Extensions& active) { return check_required(both, active).error().metadata.at(0); };
  EXPECT_EQ(missing(events), std::pair(std::string("extensions"), std::string(uri(Extension::kCommand))));
  EXPECT_EQ(missing({}).second, echo(both));
}

TEST(Card, RequiresNothingAndLeavesOutWhatIsEmpty) {
  CardFacts facts{.name = "n", .description = "d", .version = "1", .url = "http://127.0.0.1/"};
  facts.declared.add(Extension::kCommand);
  const auto extension = [](const Json& card) { return card["capabilities"]["extensions"][0]; };
  EXPECT_EQ(extension(public_card(facts))["required"], false);
  EXPECT_FALSE(extension(public_card(facts))["params"].contains("settable"));
  EXPECT_FALSE(extension(extended_card(facts, {}))["params"].contains("settable"));
  EXPECT_FALSE(extension(extended_card(facts, {}))["params"].contains("commands"));
  const Json card = extended_card(facts, {.commands = Json::array({"c"}), .settable = Json::array({"a"})});
  EXPECT_EQ(extension(card)["params"]["commands"], Json::array({"c"}));
  EXPECT_EQ(extension(card)["params"]["settable"], Json::array({"a"}));
  EXPECT_FALSE(extension(public_card(facts))["params"].contains("commands"));
}

TEST(Card, TellsParamsByAudience) {
  CardFacts facts{.name = "n", .description = "d", .version = "1", .url = "http://127.0.0.1/", .bearer = true};
  facts.declared.add(Extension::kEvents);
  const Json open = public_card(facts)["capabilities"]["extensions"][0];
  EXPECT_EQ(open["params"].size(), 2U);
  const Json named = extended_card(facts, {.ring = 7, .kinds = {"task"}});
  EXPECT_EQ(named["capabilities"]["extensions"][0]["params"]["ring"], 7);
  EXPECT_EQ(dump_json(named["securitySchemes"]), R"({"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}})");
  EXPECT_EQ(dump_json(named["securityRequirements"]), R"([{"schemes":{"bearer":{"list":[]}}}])");
  EXPECT_EQ(dump_json(named["defaultInputModes"]), R"(["text/plain","application/json"])");
  EXPECT_TRUE(named["supportedInterfaces"][0].is_object());
}

TEST(TaskState, NamesRoundTrip) {
  EXPECT_EQ(task_state("TASK_STATE_INPUT_REQUIRED"), TaskState::kInputRequired);
  EXPECT_EQ(to_string(TaskState::kCanceled), "TASK_STATE_CANCELED");
  EXPECT_FALSE(task_state("working"));
}

}  // namespace
}  // namespace agentd::a2a
