#include "base/redact.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace agentd {
namespace {

TEST(Redactor, TakesEachSecretOutWhereverItIs) {
  const Redactor redactor({"sk-12345678", "hunter2-hunter2"});
  EXPECT_EQ(redactor.redact("key sk-12345678, hunter2-hunter2."), "key ***, ***.");
  EXPECT_EQ(redactor.redact("sk-12345678 and sk-12345678"), "*** and ***");
  EXPECT_EQ(redactor.redact("xsk-123456789"), "x***9");
  EXPECT_EQ(redactor.redact("sk-12345678"), "***");
  EXPECT_EQ(redactor.redact("sk-1234567"), "sk-1234567");
  EXPECT_EQ(redactor.redact(""), "");
  EXPECT_EQ(redactor.redact(std::string("\0sk-12345678\0", 13)), std::string("\0***\0", 5));
}

TEST(Redactor, LeavesNothingOfSecretsThatOverlap) {
  const Redactor redactor({"abcdefgh", "efghijkl", "cdefghij-long"});
  EXPECT_EQ(redactor.redact("<abcdefghijkl>"), "<***>");
  EXPECT_EQ(redactor.redact("<abcdefghij-long>"), "<***>");
  EXPECT_EQ(redactor.redact("<abcdefghefghijkl>"), "<***>") << "they touch";
  EXPECT_EQ(Redactor({"abababab"}).redact("<abababababab>"), "<***>") << "with itself";
  EXPECT_EQ(Redactor({"secret-1234", "prefix-secret-1234-suffix"}).redact("<prefix-secret-1234-suffix>"), "<***>");
}

TEST(Redactor, LooksForNoShortSecret) {
  EXPECT_EQ(Redactor({"", "a", "1234567", "12345678"}).redact("a 1234567 12345678"), "a 1234567 ***");
  EXPECT_EQ(Redactor({}).redact("as it was"), "as it was");
}

TEST(Redactor, TakesSecretsOutOfAllStringsOfAJson) {
  const Redactor redactor({"sk-12345678"});
  const Json before = {{"a", "is sk-12345678"},
                       {"b", {1, true, nullptr, {{"deep", {"sk-12345678", "no"}}}}},
                       {"sk-12345678", 1.5},
                       {"last", Json::object()}};
  const Json after = {
      {"a", "is ***"}, {"b", {1, true, nullptr, {{"deep", {"***", "no"}}}}}, {"***", 1.5}, {"last", Json::object()}};
  EXPECT_EQ(redactor.redact_json(before).dump(), after.dump());
  EXPECT_EQ(redactor.redact_json("sk-12345678").dump(), R"("***")");
  EXPECT_EQ(redactor.redact_json(7).dump(), "7");
}

// Of two letters, so that secrets overlap others and themselves.
rc::Gen<std::string> letters(std::size_t least, std::size_t most) {
  return rc::gen::mapcat(rc::gen::inRange(least, most + 1), [](std::size_t size) {
    return rc::gen::container<std::string>(size, rc::gen::element('a', 'b'));
  });
}

RC_GTEST_PROP(Redactor, HidesWhatBelongsToASecretAndNothingElse, ()) {
  const auto secrets = *rc::gen::container<std::vector<std::string>>(letters(Redactor::kShortest - 1, 11));
  const auto text = *letters(0, 60);
  std::vector<bool> hidden(text.size());
  for (const auto& secret : secrets) {
    for (std::size_t at = 0; secret.size() >= Redactor::kShortest && at + secret.size() <= text.size(); ++at) {
      if (!text.substr(at).starts_with(secret)) continue;
      for (std::size_t i = 0; i < secret.size(); ++i) hidden[at + i] = true;
    }
  }
  std::string expected;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!hidden[i]) expected += text[i];
    if (hidden[i] && (i == 0 || !hidden[i - 1])) expected += "***";
  }
  RC_ASSERT(Redactor(secrets).redact(text) == expected);
}

}  // namespace
}  // namespace agentd
