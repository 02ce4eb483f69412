#include "daemon/public_pages.h"

#include <gtest/gtest.h>

#include "command/ops.h"
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

TEST(PublicPages, EveryOpHasAnExampleOfItsEnvelopeAndOfItsResult) {
  const wire::Pages pages = public_pages(facts());
  const auto expect_example = [&](const std::string& name, const Json& schema) {
    const std::string path = "/a2a/ext/command/examples/" + name + ".json";
    ASSERT_TRUE(pages.has(path)) << path;
    const auto misses = schema::compile(schema).value().validate(Json::parse(get(pages, path).body));
    EXPECT_TRUE(misses.empty()) << name << ": " << misses[0].field << " " << misses[0].description;
  };
  const Json envelopes = command::command_bundle()["$defs"]["envelopes"]["$defs"];
  for (const command::OpRow& row : command::ops()) {
    const std::string op(row.name);
    expect_example("envelope-" + op, envelopes[op]);
    if (row.result() != Json(false)) expect_example("result-" + op, row.result());
  }
}

TEST(PublicPages, TheExamplesOfAnnotationsAreServed) {
  const wire::Pages pages = public_pages(facts());
  for (const char* name : {"command", "run", "turn"}) {
    EXPECT_TRUE(pages.has("/a2a/ext/task-annotations/examples/" + std::string(name) + ".json")) << name;
  }
}

}  // namespace
}  // namespace agentd::daemon
