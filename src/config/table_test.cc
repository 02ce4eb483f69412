#include "config/table.h"

#include <algorithm>
#include <set>

#include "config/config_fixture.h"

namespace agentd::config {
namespace {

// Two rows are each a part of another's member.
bool has_member(const Row& row) {
  return row.slot != nullptr && row.type != Type::kEndpoint && row.type != Type::kArguments;
}

struct Address {
  const void* operator()(const auto* member) const { return member; }
  const void* operator()(const Variables& member) const { return member.secrets; }
};

TEST_F(Config, DefaultsOfTheTableAreThoseOfTheSnapshot) {
  Snapshot untouched;
  for (const Row& row : table()) {
    if (row.fallback.empty() || row.path.contains("[]")) continue;
    // A document that says nothing but this row's default changes nothing.
    std::string text = fmt::format("\"{}\"", row.fallback);
    if (row.type == Type::kBoolean || row.type == Type::kInteger || row.type == Type::kNumber) text = row.fallback;
    for (std::string path(row.path); !path.empty();) {
      const std::size_t dot = path.rfind('.');
      text = fmt::format("{{{}: {}}}", path.substr(dot + 1), text);
      path = dot == std::string::npos ? "" : path.substr(0, dot);
    }
    Snapshot said = good(text);
    said.store.path.clear();
    EXPECT_EQ(effective(said), effective(untouched)) << row.path;
  }
}

TEST_F(Config, DefaultsOfAServerAreThoseOfTheTable) {
  const Json server = effective(good("mcp: {servers: {s: {command: x}}}"))["mcp"]["servers"]["s"];
  int defaults = 0;
  for (const Row& row : table()) {
    if (row.fallback.empty() || !row.path.contains("[]")) continue;
    ASSERT_TRUE(row.path.starts_with("mcp.servers[].")) << row.path;
    EXPECT_EQ(server.value(std::string(name_of(row)), ""), row.fallback) << row.path;
    ++defaults;
  }
  EXPECT_EQ(defaults, 2);
}

TEST_F(Config, EveryScalarRowReachesItsOwnMember) {
  std::set<std::string> variables;
  Snapshot snapshot;
  snapshot.agent.model.endpoints.emplace_back();
  snapshot.agent.prices.emplace_back();
  snapshot.mcp.servers.emplace_back();
  snapshot.a2a.principals.emplace_back();
  snapshot.a2a.peers.emplace_back();
  std::set<const void*> members;
  for (const Row& row : table()) {
    if (has_member(row)) members.insert(std::visit(Address{}, row.slot(snapshot)));
    if (const std::string variable = variable_of(row); !variable.empty()) variables.insert(variable);
  }
  const auto scalars = std::ranges::count_if(table(), has_member);
  const auto variable = std::ranges::count_if(table(), [](const Row& row) { return !variable_of(row).empty(); });
  EXPECT_EQ(members.size(), static_cast<std::size_t>(scalars));
  EXPECT_EQ(variables.size(), static_cast<std::size_t>(variable));
  EXPECT_TRUE(variables.contains("AGENTD_A2A_EVENTS_RING"));
}

TEST(ConfigSchema, HasEveryRowAndClosedObjects) {
  const Json schema = config_schema();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  for (const Row& row : table()) {
    const Json* at = &schema;
    std::string_view rest = row.path;
    while (!rest.empty()) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      std::string name(rest.substr(0, dot));
      const bool item = name.ends_with("[]");
      if (item) name.resize(name.size() - 2);
      ASSERT_TRUE(at->at("properties").contains(name)) << row.path;
      at = &at->at("properties").at(name);
      if (item) at = &at->at(at->contains("items") ? "items" : "additionalProperties");
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    EXPECT_TRUE(at->at("description").get<std::string>().starts_with(row.description)) << row.path;
    EXPECT_EQ(at->contains("default"), !row.fallback.empty()) << row.path;
    if (row.type == Type::kSection) EXPECT_EQ(at->at("additionalProperties"), false) << row.path;
  }
  const Json& ring = schema["properties"]["a2a"]["properties"]["events"]["properties"]["ring"];
  EXPECT_EQ(dump_json(ring), R"({"description":"Events kept for replay. Restart only.","type":"integer",)"
                             R"("minimum":1,"maximum":1000000,"default":1024})");
  const Json& rule = schema["properties"]["a2a"]["properties"]["principals"]["items"];
  EXPECT_EQ(dump_json(rule["required"]), R"(["match","role"])");
  EXPECT_EQ(dump_json(rule["properties"]["match"]["properties"]["bearer_ref"]["anyOf"][0]),
            R"({"type":"object","properties":{"env":{"type":"string","minLength":1}},"additionalProperties":false,)"
            R"("required":["env"]})");
}

TEST(ConfigText, WritesTheLargestUnitThatDivides) {
  EXPECT_EQ(duration_text(0), "0ms");
  EXPECT_EQ(duration_text(90'000), "90s");
  EXPECT_EQ(duration_text(86'400'000), "1d");
  EXPECT_EQ(size_text(1536), "1536");
  EXPECT_EQ(size_text(64U << 20U), "64MiB");
}

}  // namespace
}  // namespace agentd::config
