#include "base/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/ids.h"
#include "base/plain_scalar.h"

namespace agentd {
namespace {

Json value_of(std::string_view text) {
  auto document = parse_document(text, "f.yaml");
  if (document) return document->value;
  ADD_FAILURE() << to_string(document.error().front());
  return nullptr;
}

std::vector<std::string> faults_of(std::string_view text) {
  std::vector<std::string> out;
  const auto document = parse_document(text, "f.yaml");
  if (document) return out;
  for (const Fault& fault : document.error()) out.push_back(to_string(fault));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Document, TypesPlainScalarsByTheCoreSchemaAndLeavesQuotedOnesText) {
  EXPECT_EQ(value_of("[true, False, null, ~, , 12, -3, +4, 0x1F, 0o17, 1.5, .5, -1e3, 18446744073709551615]"),
            Json::parse("[true, false, null, null, null, 12, -3, 4, 31, 15, 1.5, 0.5, -1000.0, 18446744073709551615]"));
  EXPECT_EQ(value_of("['true', \"12\", 'null', !!str 7, yes, on, 30s, 1.0.0, 12_000, 0b1, -, 1e, .]"),
            Json::parse(R"(["true","12","null","7","yes","on","30s","1.0.0","12_000","0b1","-","1e","."])"));
  EXPECT_EQ(value_of("a: |\n  12\n"), Json::parse(R"({"a":"12\n"})"));
  EXPECT_TRUE(value_of("-9223372036854775808").is_number_integer());
  for (const char* bad : {"18446744073709551616", "-9223372036854775809", ".inf", "-.Inf", ".nan", "1e999"}) {
    EXPECT_FALSE(plain_scalar(bad)) << bad;
  }
}

TEST(Document, ReadsJsonWithTabsByTheSamePath) {
  EXPECT_EQ(value_of("{\n\t\"a\": [1, 2.5, \"x\\/y\\u00e9\\n\"],\n\t\"b\":{\"c\":true}\n}\n"),
            Json::parse(R"({"a":[1,2.5,"x/yé\n"],"b":{"c":true}})"));
}

TEST(Document, KeepsTheOrderOfMembersAndTheEmptyTextIsNull) {
  EXPECT_EQ(dump_json(value_of("b: 1\na: {d: 2, c: 3}\n")), R"({"b":1,"a":{"d":2,"c":3}})");
  EXPECT_TRUE(value_of("").is_null());
  EXPECT_EQ(parse_document("", "f")->locate("a").line, 0);
  EXPECT_TRUE(value_of("# only a comment\n").is_null());
}

TEST(Document, SaysWhereEachMemberStands) {
  const auto document = parse_document("a2a:\n  listen:\n    - one\n    - two\n  events: {ring: 3}\n", "f.yaml");
  ASSERT_TRUE(document);
  const auto at = [&](std::string_view path) {
    const Mark mark = document->locate(path);
    return mark.file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
  };
  EXPECT_EQ(at("a2a.listen[1]"), "f.yaml:4:7");
  EXPECT_EQ(at("a2a.events.ring"), "f.yaml:5:12");
  EXPECT_EQ(at("a2a.events.ring.deep[3]"), "f.yaml:5:12");
  EXPECT_EQ(at("a2a.url"), "f.yaml:1:1");
  EXPECT_EQ(at("nowhere"), "f.yaml:1:1");
  EXPECT_EQ(Document{.file = "g"}.locate("x").file, "g");
}

TEST(Document, RefusesRepeatedKeysAndGoesOnToTheNextFault) {
  EXPECT_EQ(faults_of("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 4\n"),
            (Texts{"f.yaml:5:3: b.c: is given twice: on line 3 and on line 5",
                   "f.yaml:6:1: a: is given twice: on line 1 and on line 6"}));
}

TEST(Document, RefusesKeysThatAreNotText) {
  EXPECT_EQ(faults_of("a:\n  1: x\n  true: y\n"), (Texts{"f.yaml:2:3: a: keys are strings: quote this one",
                                                         "f.yaml:3:3: a: keys are strings: quote this one"}));
  EXPECT_EQ(faults_of("? [a]\n: b\n"),
            (Texts{"f.yaml:1:3: keys are strings: a list or a mapping cannot be one (or its bracket does not end)"}));
  EXPECT_EQ(faults_of("~: b\n"), (Texts{"f.yaml:1:1: a key is missing, or is null: keys are strings, quote it"}));
  EXPECT_EQ(faults_of("a: &k x\n*k : y\n"), (Texts{"f.yaml:2:1: keys are strings: an alias cannot be one"}));
  EXPECT_EQ(value_of("\"1\": x"), Json::parse(R"({"1":"x"})"));
}

TEST(Document, RefusesMergeKeysButNotAQuotedOne) {
  EXPECT_EQ(faults_of("a: &x {b: 1}\nc:\n  <<: *x\n"),
            (Texts{"f.yaml:3:3: c: merge keys (<<) are not supported: write the members out"}));
  EXPECT_EQ(value_of("'<<': 1"), Json::parse(R"({"<<":1})"));
}

TEST(Document, RefusesTagsASecondDocumentAndUnknownAliases) {
  EXPECT_EQ(faults_of("a: !!binary x\nb: !mine {c: 1}\n"),
            (Texts{"f.yaml:1:4: a: tags (!) are not supported: quote the text if it begins with !",
                   "f.yaml:2:4: b: tags (!) are not supported: quote the text if it begins with !"}));
  EXPECT_EQ(faults_of("a: 1\n---\nb: 2\n"), (Texts{"f.yaml:2:1: the document ended before this, and a file "
                                                   "holds one: check indentation and brackets"}));
  EXPECT_TRUE(faults_of("---\na: 1\n...\n").empty());
  const Texts unknown = faults_of("a: *secret\n");
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_NE(unknown[0].find("an alias (*) names no anchor (&) before it"), std::string::npos) << unknown[0];
  EXPECT_EQ(unknown[0].find("secret"), std::string::npos);
}

TEST(Document, ExpandsAliasesWithinTheBounds) {
  EXPECT_EQ(value_of("a: &x {b: [1]}\nc: *x\n"), Json::parse(R"({"a":{"b":[1]},"c":{"b":[1]}})"));
  EXPECT_EQ(faults_of("a: &x [*x]\n"), (Texts{"f.yaml:1:8: a[0]: an alias stands inside the node that it names"}));

  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) laughs += (j ? ", *a" : "*a") + std::to_string(i - 1);
    laughs += "]\n";
  }
  const Texts nodes = faults_of(laughs);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_NE(nodes[0].find("more than 100000 nodes, aliases expanded"), std::string::npos) << nodes[0];

  std::string wide = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 50; ++i) wide += ", *a";
  const Texts bytes = faults_of(wide + "]\n");
  ASSERT_EQ(bytes.size(), 1U);
  EXPECT_NE(bytes[0].find("more than 4194304 bytes of text"), std::string::npos) << bytes[0];

  // 40 levels hold an alias to 40 levels.
  const std::string deep = "a: &a " + std::string(40, '[') + std::string(40, ']') + "\nb: " + std::string(40, '[') +
                           "*a " + std::string(40, ']') + "\n";
  ASSERT_EQ(faults_of(deep).size(), 1U);
  EXPECT_NE(faults_of(deep)[0].find("deeper than 64 levels"), std::string::npos);
}

TEST(Document, BoundsDepthBeforeTheParserRecurses) {
  EXPECT_TRUE(faults_of(std::string(64, '[') + std::string(64, ']')).empty());
  EXPECT_EQ(faults_of(std::string(65, '[') + std::string(65, ']')).size(), 1U);
  for (const char* unit : {"[", "{a: ", "- ", "? ", "[a: ", "{? ", "{", "[? "}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    const Texts faults = faults_of(text);
    ASSERT_EQ(faults.size(), 1U) << unit;
  }
}

TEST(Document, BoundsSizeMembersFaultsAndBytes) {
  EXPECT_EQ(faults_of(std::string((2U << 20U) + 1, ' ')), (Texts{"f.yaml:1:1: not read: longer than 2097152 bytes"}));
  EXPECT_EQ(faults_of("a: 1\nb: \xff\n"), (Texts{"f.yaml:2:4: not UTF-8"}));
  EXPECT_EQ(faults_of("a: 1\nb: x\x04\nc: 2\n"), (Texts{"f.yaml:2:5: a control character"}));
  std::string wide, repeated;
  for (int i = 0; i < 5000; ++i) wide += "k" + std::to_string(i) + ": 1\n";
  for (int i = 0; i < 5000; ++i) repeated += "k: 1\n";
  ASSERT_EQ(faults_of(wide).size(), 1U);
  EXPECT_NE(faults_of(wide)[0].find("f.yaml:4097:1: k4096: a mapping has more than 4096 members"), std::string::npos);
  EXPECT_EQ(faults_of(repeated).size(), 100U);
}

TEST(Document, ExplainsBrokenSyntaxWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: [1, 2\nb: 3\n", "f.yaml:2:2: a: a list in [ ] does not end, or misses a comma"},
      {"a: {b: 1\n", "f.yaml:2:1: a: a mapping in { } does not end, or misses a comma"},
      {"a:\n\tb: 1\n",
       "f.yaml:2:3: a colon is out of place: check indentation, tabs, and quote a text that holds \": \""},
      {"a: 'x\nb: 1\n", "f.yaml:3:1: a: a quoted text does not end before the document does"},
      {"a: \"x", "f.yaml:2:1: a: a quoted text does not end before the document does"},
      {"{\"a\": \"\\ud83d\\ude00\"}",
       "f.yaml:1:14: a \\u escape is no character: write one above U+FFFF as itself or as \\UXXXXXXXX"},
      {"a: \"\\q\"\n", "f.yaml:1:7: a: an escape in a quoted text is not known: write \\\\ for a backslash"},
      {"a: @x\n", "f.yaml:1:4: a: a text cannot begin with this character: quote it"},
      {"{a: 1}}\n", "f.yaml:1:7: not YAML: illegal flow end"}};
  for (const auto& [text, fault] : cases) EXPECT_EQ(faults_of(text), Texts{fault}) << text;
}

TEST(Document, ReadsAFileOrSaysWhyNot) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / ("document" + random_hex(8));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "a.yaml";
  std::ofstream(file) << "a: 1\n";
  EXPECT_EQ(read_document(file)->value, Json::parse(R"({"a":1})"));
  EXPECT_EQ(read_document(file)->file, file);
  EXPECT_EQ(to_string(read_document(folder / "b.yaml").error().front()),
            (folder / "b.yaml").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(to_string(read_document(folder).error().front()), folder.string() + ": cannot be read: it is a folder");
  std::filesystem::remove_all(folder);
}

TEST(Nearest, FindsASlipAndNotAStranger) {
  const std::vector<std::string> keys = {"listen", "url", "bearer", "principals", "events", "ring", "ring_bytes"};
  EXPECT_EQ(nearest("lisen", keys), "listen");
  EXPECT_EQ(nearest("uri", keys), "url");
  EXPECT_EQ(nearest("ring_byte", keys), "ring_bytes");
  EXPECT_EQ(nearest("zebra", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest(std::string(5000, 'a'), {std::string(5000, 'a')}), "");
}

}  // namespace
}  // namespace agentd
