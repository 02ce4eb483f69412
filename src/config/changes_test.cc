// What a reload tells apart.
#include <algorithm>

#include "config/config_fixture.h"
#include "config/table.h"

namespace agentd::config {
namespace {

constexpr const char* kBefore = R"(
agent: {name: one, instructions: {file: text}, prices: [{model: m, input: 1, output: 2}]}
mcp: {servers: {web: {url: https://tools.example, headers: {Key: {file: key}}}}}
a2a:
  bearer: {file: token}
  principals: [{id: alice, match: {bearer_ref: {file: alice}}, role: user, grants: [a]}]
  events: {ring: 32}
store: {kind: memory, retention: {tasks: {ttl: 1d}}}
workflows: [flows, {name: inline, steps: {a: {exec: {argv: [/bin/true]}}}}]
)";

class Changes : public Config {
 protected:
  Changes() {
    write("text", "be kind");
    write("token", "top");
    write("alice", "a");
    write("key", "k");
    write("flows/one.yaml", "name: one\nsteps: {a: {exec: {argv: [/bin/true]}}}\n");
    before_ = good(kBefore);
  }
  Texts now() { return changes(before_, good(kBefore)); }
  static std::string with(std::string_view old, std::string_view fresh) {
    std::string text = kBefore;
    text.replace(text.find(old), old.size(), fresh);
    return text;
  }

  Snapshot before_;
};

TEST_F(Changes, TheSameFilesAreNoChange) { EXPECT_EQ(now(), Texts{}); }

TEST_F(Changes, EachIsNamedAsInTheTable) {
  EXPECT_EQ(changes(before_, good(with("name: one", "name: two"))), Texts{"agent.name"});
  EXPECT_EQ(changes(before_, good(with("ttl: 1d", "ttl: 2d"))), Texts{"store.retention.tasks.ttl"});
  EXPECT_EQ(changes(before_, good(with("grants: [a]", "rate: 2/1s"))), Texts{"a2a.principals"});
  EXPECT_EQ(changes(before_, good(with("[/bin/true]", "[/bin/false]"))), Texts{"workflows"});
  EXPECT_EQ(changes(before_, good(with("input: 1", "input: 3"))), Texts{"agent.prices"});
  EXPECT_EQ(changes(before_, good(with("https://tools.example", "https://other.example"))), Texts{"mcp.servers"});
  EXPECT_EQ(changes(before_, good(with("name: one", "name: one, budget: {usd_per_day: 0.5}"))),
            Texts{"agent.budget.usd_per_day"});
  EXPECT_EQ(changes(before_, good(with("name: one", "name: one, approval: auto"))), Texts{"agent.approval"});
  EXPECT_EQ(changes(before_, good("store: {kind: memory}")),
            (Texts{"agent.name", "agent.instructions", "agent.prices", "mcp.servers", "a2a.bearer", "a2a.principals",
                   "a2a.events.ring", "store.retention.tasks.ttl", "workflows"}));
}

TEST_F(Changes, WhatAFileHoldsCountsAndNotItsName) {
  write("text", "be brief");
  EXPECT_EQ(now(), Texts{"agent.instructions"});
  write("text", "be kind");
  write("alice", "b");
  EXPECT_EQ(now(), Texts{"a2a.principals"});
  write("alice", "a");
  write("key", "l");
  EXPECT_EQ(now(), Texts{"mcp.servers"});
  write("key", "k");
  write("token", "other");
  EXPECT_EQ(now(), Texts{"a2a.bearer"});
  write("token", "top");
  write("flows/two.yaml", "name: two\nsteps: {a: {exec: {argv: [/bin/true]}}}\n");
  EXPECT_EQ(now(), Texts{"workflows"});
}

TEST_F(Changes, AllFilesAreKnownThatMayBeChanged) {
  Texts files = before_.files;
  std::ranges::sort(files);
  Texts expected;
  for (const char* name : {"agentd.yaml", "alice", "flows", "flows/one.yaml", "key", "text", "token"}) {
    expected.push_back((folder_ / name).lexically_normal());
  }
  // The inline workflow stands in the main file.
  files.erase(std::ranges::unique(files).begin(), files.end());
  EXPECT_EQ(files, expected);
}

TEST_F(Changes, WhatOnlyAStartTakesUpIsMarkedInTheTable) {
  for (const char* path : {"a2a.listen", "a2a.url", "a2a.tls.cert", "a2a.bearer", "a2a.events.enabled",
                           "a2a.device_grant.enabled", "store.kind", "store.path", "a2a.sessions.persist"}) {
    EXPECT_TRUE(needs_restart(path)) << path;
  }
  for (const char* path : {"a2a.principals", "a2a.cors.origins", "a2a.introspection.enabled", "workflows", "log.level",
                           "store.retention.audit.ttl", "agent.name", "agent.model.provider",
                           "agent.budget.tokens_per_day", "mcp.servers", "a2a.peers"}) {
    EXPECT_FALSE(needs_restart(path)) << path;
  }
}

}  // namespace
}  // namespace agentd::config
