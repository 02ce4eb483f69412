#include "config/mcp_files.h"

#include <algorithm>

#include "config/config_fixture.h"

namespace agentd::config {
namespace {

TEST_F(Config, ReadsTheServersOfDocumentsOfOtherPrograms) {
  env_.insert(env_.end(), {{"KEY", kCanary}, {"HOST", "tools.example"}});
  write("tools/.mcp.json", R"({"inputs": [], "mcpServers": {
    "old": {"type": "sse", "url": "https://tools.example/sse"},
    "Files": {"type": "stdio", "command": "npx", "args": ["-y", "server"], "env": {"KEY": "${KEY}"}, "cwd": "here"},
    "web": {"type": "http", "url": "https://${HOST:-none}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
    "off": {"command": "x", "disabled": true}}})");
  const std::string text = "mcp: {servers: {own: {command: x}}, files: [tools/.mcp.json]}";
  const Snapshot s = good(text);
  ASSERT_EQ(s.mcp.servers.size(), 3U);
  EXPECT_EQ(s.mcp.servers[0].name, "own");
  EXPECT_EQ(s.mcp.servers[1].name, "Files");
  EXPECT_EQ(s.mcp.servers[1].command, (Texts{"npx", "-y", "server"}));
  EXPECT_EQ(s.mcp.servers[1].env, (Environment{{"KEY", kCanary}}));
  EXPECT_EQ(s.mcp.servers[1].cwd, folder_ / "tools/here");
  EXPECT_EQ(s.mcp.servers[2].url, "https://tools.example/mcp");
  EXPECT_EQ(s.mcp.servers[2].headers, (Environment{{"Authorization", std::string("Bearer ") + kCanary}}));
  EXPECT_EQ(dump_json(effective(s)).find(kCanary), std::string::npos);
  EXPECT_EQ(std::ranges::count(s.files, (folder_ / "tools/.mcp.json").string()), 1);
  write("tools/.mcp.json", R"({"mcpServers": {}})");
  EXPECT_EQ(changes(s, good(text)), Texts{"mcp.servers"});
}

TEST_F(Config, SaysWhatIsWrongInADocumentOfServers) {
  write("one.json",
        "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"args\": []},\n  \"c\": 5,\n"
        "  \"d\": {\"command\": \"x\", \"env\": {\"A\": 1}},\n  \"E f\": {\"command\": \"x\"},\n"
        "  \"f\": {\"url\": \"https://${NONE}/\"}}}");
  write("two.json", "{\"mcpServers\": {\"a\": {\"command\": \"y\"}}}");
  write("three.json", "{\"servers\": {}}");
  write("four.json", "{\"mcpServers\": []}");
  Texts found =
      faults("mcp: {servers: {a: {command: z}}, files: [one.json, two.json, three.json, four.json, five.json]}");
  for (std::string& fault : found)
    fault.erase(0, fault.starts_with(folder_.string()) ? folder_.string().size() + 1 : 0);
  const std::string taken = "is the name of another server, in mcp.servers or in another file";
  EXPECT_EQ(found, (Texts{
                       "one.json:2:3: mcpServers.a: " + taken,
                       "one.json:3:3: mcpServers.b: misses command, or url; expected exactly one of the two",
                       "one.json:4:3: mcpServers.c: is not a mapping; expected a mapping with members of command, "
                       "args, env, cwd, url, headers, oauth, tools, start_timeout, call_timeout",
                       "one.json:5:33: mcpServers.d.env.A: is not a text: quote it; expected a text, {env: NAME} or "
                       "{file: PATH}",
                       "one.json:6:3: mcpServers.E f: its name is not one of a server; expected 1 to 64 of a-z, A-Z, "
                       "0-9, _ and -",
                       "one.json:7:9: mcpServers.f.url: the variable NONE is not set: set it, or write "
                       "${NONE:-default}",
                       "two.json:1:17: mcpServers.a: " + taken,
                       "three.json:1:1: misses mcpServers; expected {\"mcpServers\": {NAME: {command, args, env} or "
                       "{url, headers}}}",
                       "four.json:1:2: mcpServers: is not a mapping; expected a mapping of names to {command, args, "
                       "env, cwd, url, headers, oauth, tools, start_timeout, call_timeout}",
                       "five.json: cannot be read: No such file or directory",
                   }));
}

}  // namespace
}  // namespace agentd::config
