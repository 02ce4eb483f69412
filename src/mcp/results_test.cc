#include "mcp/results.h"

#include <gtest/gtest.h>

#include <string>

namespace agentd::mcp {
namespace {

ToolResult read(const char* json) { return read_result(Json::parse(json)); }

TEST(Results, ShowAllKindsOfContentAsText) {
  const ToolResult result = read(R"({"content": [
      {"type": "text", "text": "first"},
      {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
      {"type": "audio", "mimeType": "audio/wav", "data": "aGVsbG8h"},
      {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "of a file"}},
      {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "x/y", "blob": "aGVsbA=="}},
      {"type": "resource_link", "uri": "file:///c", "name": "C"},
      {"type": "new"}]})");
  EXPECT_EQ(result.text,
            "first\n[image image/png, 5 bytes]\n[audio audio/wav, 6 bytes]\n[resource file:///a]\nof a file\n"
            "[resource file:///b x/y, 4 bytes]\n[resource file:///c C]\n[new]");
  EXPECT_EQ(result.content.size(), 7U);
  EXPECT_FALSE(result.is_error);
}

TEST(Results, PassOnWhatIsStructured) {
  const ToolResult both =
      read(R"({"content": [{"type": "text", "text": "21 degrees"}], "structuredContent": {"t": 21}})");
  EXPECT_EQ(both.text, "21 degrees");
  EXPECT_EQ(both.structured, Json::parse(R"({"t": 21})"));
  EXPECT_EQ(read(R"({"content": [], "structuredContent": {"t": 21}})").text, R"({"t":21})");
  EXPECT_TRUE(read(R"({"content": []})").structured.is_null());
}

TEST(Results, TakeWhateverShapeAServerGives) {
  EXPECT_TRUE(read("[]").is_error);
  EXPECT_TRUE(read("null").is_error);
  for (const char* odd : {R"({})", R"({"content": null})", R"({"content": "text"})",
                          R"({"content": [null, 1, "a", []]})", R"({"content": {"a": 1}, "isError": "yes"})"}) {
    const ToolResult result = read(odd);
    EXPECT_EQ(result.text, "") << odd;
    EXPECT_EQ(result.content, Json::array()) << odd;
    EXPECT_FALSE(result.is_error) << odd;
  }
  EXPECT_EQ(read(R"({"content": [{"type": 5, "text": 7}, {"type": "resource", "resource": []}]})").text,
            "[]\n[resource  , 0 bytes]");
}

TEST(Results, AreBounded) {
  Json block = {{"type", "image"}, {"data", std::string(8U << 20U, 'A')}};
  const ToolResult large = read_result({{"content", Json::array({block})}});
  EXPECT_TRUE(large.is_error);
  EXPECT_EQ(large.text, "The tool gave more than 8 MiB, which is too much.");
  EXPECT_EQ(large.content, Json::array());
  EXPECT_TRUE(read_result({{"structuredContent", block}}).is_error);
}

TEST(Results, ListToolsThatAreSound) {
  std::vector<Tool> tools;
  EXPECT_TRUE(read_tools(Json::parse(R"({"tools": [
      {"name": "a", "inputSchema": {"type": "object"}},
      {"name": "a", "inputSchema": {"type": "object"}, "description": "again"},
      {"name": "", "inputSchema": {}}, {"inputSchema": {}}, {"name": "c", "inputSchema": "any"}, {"name": "d"}, null, 7,
      {"name": "b", "inputSchema": {}, "annotations": {"readOnlyHint": true}, "description": 5}]})"),
                         tools));
  ASSERT_EQ(tools.size(), 2U);
  EXPECT_EQ(tools[0], (Tool{.name = "a", .description = "", .schema = {{"type", "object"}}, .read_only = false}));
  EXPECT_EQ(tools[1], (Tool{.name = "b", .description = "", .schema = Json::object(), .read_only = true}));
  for (const char* odd : {"[]", "null", R"({"tools": 5})", R"({"tools": {"a": 1}})"}) {
    EXPECT_TRUE(read_tools(Json::parse(odd), tools)) << odd;
  }
  EXPECT_EQ(tools.size(), 2U);
}

}  // namespace
}  // namespace agentd::mcp
