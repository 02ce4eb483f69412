#include "daemon/public_pages.h"

#include <gtest/gtest.h>

#include "schema/validator.h"

namespace agentd::daemon {
namespace {

a2a::CardFacts facts() {
  return {.name = "tester", .description = "d", .version = "1", .url = "http://127.0.0.1:1/", .ops = Json::array()};
}

http::Response get(const wire::Pages& pages, const std::string& path) {
  return pages.get({.method = "GET", .path = path});
}

TEST(PublicPages, TheCardIsServedAndSaysWhoWeAre) {
  const wire::Pages pages = public_pages(facts());
  ASSERT_TRUE(pages.has("/.well-known/agent-card.json"));
  const http::Response card = get(pages, "/.well-known/agent-card.json");
  EXPECT_EQ(card.status, 200);
  EXPECT_EQ(Json::parse(card.body)["name"], "tester");
  EXPECT_TRUE(pages.has("/healthz"));
  EXPECT_FALSE(pages.has("/"));
}

TEST(PublicPages, EveryExtensionHasItsPageAndASchemaThatCompiles) {
  const wire::Pages pages = public_pages(facts());
  for (const a2a::Extension extension : a2a::kExtensions) {
    const std::string name(a2a::name(extension));
    ASSERT_TRUE(pages.has("/a2a/ext/" + name)) << name;
    EXPECT_EQ(get(pages, "/a2a/ext/" + name).body.front(), '#') << name;
    ASSERT_TRUE(pages.has("/a2a/ext/" + name + "/schema.json")) << name;
    const Json schema = Json::parse(get(pages, "/a2a/ext/" + name + "/schema.json").body);
    EXPECT_EQ(schema["$id"], std::string(a2a::uri(extension)) + "/schema.json");
    EXPECT_TRUE(schema::compile(schema).has_value()) << name;
  }
}

TEST(PublicPages, ThePrintedSchemaIsTheServedOne) {
  const wire::Pages pages = public_pages(facts());
  EXPECT_EQ(extension_schema("command"), get(pages, "/a2a/ext/command/schema.json").body);
  EXPECT_EQ(extension_schema("nothing"), "");
}

TEST(PublicPages, TheGoldenFramesAreServed) {
  const wire::Pages pages = public_pages(facts());
  ASSERT_TRUE(pages.has("/a2a/ext/events/examples/hello.json"));
  EXPECT_TRUE(Json::parse(get(pages, "/a2a/ext/events/examples/hello.json").body).is_object());
}

}  // namespace
}  // namespace agentd::daemon
