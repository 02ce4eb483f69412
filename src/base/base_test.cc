#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/time_text.h"

namespace agentd {
namespace {

TEST(Json, RefusesWhatCannotBeHandedOnUnchanged) {
  EXPECT_FALSE(parse_json("{\"a\":\"\\ud800\"}"));  // a lone surrogate
  EXPECT_FALSE(parse_json("\"\xff\""));             // not UTF-8
  EXPECT_FALSE(parse_json("{\"a\":1} x"));
  EXPECT_EQ(parse_json("18446744073709551615")->get<std::uint64_t>(), 18446744073709551615ULL);
}

TEST(Json, NamesTheIntegerThatWouldComeBackChanged) {
  const auto at = [](const char* text) { return parse_json(text).error().violations.at(0).field; };
  EXPECT_EQ(at("18446744073709551616"), "");
  EXPECT_EQ(at(R"({"id":1,"params":{"a":[[],{"x":1},{"b":-99999999999999999999}]}})"), "params.a[2].b");
  EXPECT_TRUE(parse_json("1e300"));
}

TEST(Json, BoundsDepthMembersAndSize) {
  EXPECT_TRUE(parse_json(std::string(128, '[') + std::string(128, ']')));
  EXPECT_EQ(parse_json(std::string(129, '[') + std::string(129, ']')).error().code, Code::kParse);
  std::string wide = "{";
  for (int i = 0; i < 5000; ++i) wide += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_NE(parse_json(wide + "}").error().message.find("4096 members"), std::string::npos);
  EXPECT_FALSE(parse_json("[1,2]", {.bytes = 4}));
}

TEST(Json, DumpsOneLineWhateverTheBytes) {
  EXPECT_EQ(dump_json(Json("a\nb\xff")), "\"a\\nb\xEF\xBF\xBD\"");
  EXPECT_EQ(to_utf8("ok \xF0\x9F\x98\x80 \xED\xA0\x80"), "ok \xF0\x9F\x98\x80 \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Json, CutsTextAtACharacter) {
  EXPECT_EQ(cut_text("short", 10), "short");
  EXPECT_EQ(cut_text("a\xC3\xA9z", 2), "a…(+3 bytes)");
}

TEST(TimeText, RoundTripsAndRefuses) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(parse_rfc3339("2026-01-31T09:08:07.123Z").value(), 1769850487123);
  EXPECT_EQ(rfc3339(1769850487123), "2026-01-31T09:08:07.123Z");
  EXPECT_EQ(parse_rfc3339("2026-01-31T10:08:07+01:00").value(), 1769850487000);
  for (const char* bad : {"", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T09:08:07", "2026-01-31T09:08:07.Z"}) {
    EXPECT_FALSE(parse_rfc3339(bad)) << bad;
  }
}

TEST(TimeText, DurationsAndSizes) {
  EXPECT_EQ(parse_duration("250ms").value(), 250);
  EXPECT_EQ(parse_duration("30d").value(), 2'592'000'000);
  EXPECT_EQ(parse_size("64MiB").value(), 64 << 20);
  for (const char* bad : {"", "5", "-5s", "5 s", "5w", "99999999999999999d"}) EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Ids, AreOfTheirFormAndDiffer) {
  EXPECT_EQ(random_hex(7).size(), 7U);
  const std::string id = random_uuid();
  ASSERT_EQ(id.size(), 36U);
  EXPECT_EQ(id[14], '4');
  EXPECT_NE(id, random_uuid());
}

}  // namespace
}  // namespace agentd
