#include "feed/params.h"

#include <gtest/gtest.h>

namespace agentd::feed {
namespace {

Result<std::uint64_t> parse(std::string_view text) {
  const Json params = parse_json(text).value();
  return validate_params(&params);
}

TEST(SubscribeParams, TakeAbsenceForTheStartOfTheFeed) {
  EXPECT_EQ(validate_params(nullptr).value(), 0U);
  EXPECT_EQ(parse("{}").value(), 0U);
}

TEST(SubscribeParams, TakeEveryIntegerOf64Bits) {
  EXPECT_EQ(parse(R"({"fromSeq":0})").value(), 0U);
  EXPECT_EQ(parse(R"({"fromSeq":9007199254740993})").value(), 9'007'199'254'740'993U);
  EXPECT_EQ(parse(R"({"fromSeq":18446744073709551615})").value(), 18'446'744'073'709'551'615U);
  const Json built = {{"fromSeq", 3}};  // a signed value, as code makes them
  EXPECT_EQ(validate_params(&built).value(), 3U);
}

TEST(SubscribeParams, RefuseEverythingElseByName) {
  for (const char* bad : {"-1", "1.5", "2.0", "1e3", "\"3\"", "null", "true", "[]", "{}"}) {
    const auto result = parse(std::string(R"({"fromSeq":)") + bad + "}");
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().code, Code::kInvalidParams);
    ASSERT_EQ(result.error().violations.size(), 1U) << bad;
    EXPECT_EQ(result.error().violations[0].field, "params.fromSeq");
  }
  for (const char* bad : {"[]", "[0]", "null", "3", "\"fromSeq\""}) {
    const auto result = parse(bad);
    ASSERT_FALSE(result.has_value()) << bad;
    EXPECT_EQ(result.error().violations[0].field, "params");
  }
  EXPECT_FALSE(parse_json(R"({"fromSeq":18446744073709551616})").has_value());
}

TEST(SubscribeParams, NameAllViolationsAtOnce) {
  const auto error = parse(R"({"from_seq":1,"fromSeq":-1,"kinds":[]})").error();
  ASSERT_EQ(error.violations.size(), 3U);
  EXPECT_EQ(error.violations[0].field, "params.from_seq");
  EXPECT_EQ(error.violations[1].field, "params.fromSeq");
  EXPECT_EQ(error.violations[2].field, "params.kinds");
}

}  // namespace
}  // namespace agentd::feed
