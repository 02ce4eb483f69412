// The keys of the agent's work: what they become.
#include "config/agent.h"

#include "config/config_fixture.h"

namespace agentd::config {
namespace {

TEST_F(Config, ReadsTheModel) {
  env_.insert(env_.end(), {{"KEY", kCanary}, {"OTHER", "other"}});
  const Snapshot s = good(R"(
agent:
  model:
    provider: anthropic
    model: large
    endpoints: [https://one.example/v1/, {url: http://127.0.0.1:8000, model: small, api_key: {env: OTHER}}]
    api_key: {env: KEY}
    max_tokens: 100
    temperature: 0.5
    context_tokens: 2000
    ca: ca.pem
    proxy: http://proxy.example:3128
    connect_timeout: 1s
    first_byte_timeout: 2s
    silence_timeout: 3s
    retries: 0
)");
  const Model expected = {.provider = Provider::kAnthropic,
                          .script = "",
                          .endpoints = {{.url = "https://one.example/v1", .model = "", .api_key = {}},
                                        {.url = "http://127.0.0.1:8000",
                                         .model = "small",
                                         .api_key = Secret{.value = "other", .source = "env OTHER"}}},
                          .name = "large",
                          .api_key = Secret{.value = kCanary, .source = "env KEY"},
                          .max_tokens = 100,
                          .temperature = 0.5,
                          .context_tokens = 2000,
                          .ca = folder_ / "ca.pem",
                          .proxy = "http://proxy.example:3128",
                          .connect_timeout_ms = 1000,
                          .first_byte_timeout_ms = 2000,
                          .silence_timeout_ms = 3000,
                          .retries = 0};
  EXPECT_EQ(s.agent.model, expected);
  EXPECT_EQ(name_of(s.agent.model), "anthropic:large");
  EXPECT_EQ(name_of(Model{}), "scripted");
  EXPECT_EQ(dump_json(effective(s)["agent"]["model"]["endpoints"]),
            R"([{"url":"https://one.example/v1"},{"url":"http://127.0.0.1:8000","model":"small","api_key":"***"}])");
  EXPECT_EQ(dump_json(effective(s)).find(kCanary), std::string::npos);
}

TEST_F(Config, OneEndpointIsAListOfOne) {
  const std::string text = "agent: {model: {provider: openai, model: m, endpoint: https://one.example/v1}}";
  const Snapshot s = good(text);
  EXPECT_EQ(s.agent.model.endpoints,
            (std::vector{Endpoint{.url = "https://one.example/v1", .model = "", .api_key = {}}}));
  EXPECT_FALSE(effective(s)["agent"]["model"].contains("endpoint"));
  EXPECT_EQ(changes(s, good("agent: {model: {provider: openai, model: m, endpoints: [https://one.example/v1]}}")),
            Texts{});
  EXPECT_EQ(changes(s, good("agent: {model: {provider: openai, model: m, endpoint: https://two.example}}")),
            Texts{"agent.model.endpoints"});
  env_.emplace_back("AGENTD_AGENT_MODEL_ENDPOINT", "https://two.example");
  EXPECT_EQ(good(text).agent.model.endpoints[0].url, "https://two.example");
}

TEST_F(Config, ReadsWhatTheAgentMay) {
  write("AGENTS.md", "Be kind.\n");
  write("skills/pdf/SKILL.md", "Read it.\n");
  const Snapshot s = good(R"(
agent:
  approval: accept
  nobody: deny
  ask_timeout: 0s
  budget: {tokens_per_turn: 1, tokens_per_day: 2, rounds_per_turn: 3, turn_timeout: 4s, usd_per_turn: 0.05, usd_per_day: 6}
  prices: [{model: small, input: 0.25, output: 1}]
  max_subagent_depth: 0
  max_subagents: 7
  max_parallel_tools: 8
  files: [AGENTS.md]
  skills: [skills]
)");
  EXPECT_EQ(s.agent.approval, Approval::kAccept);
  EXPECT_EQ(s.agent.nobody, Nobody::kDeny);
  EXPECT_EQ(s.agent.ask_timeout_ms, 0);
  EXPECT_EQ(s.agent.budget, (Budget{.tokens_per_turn = 1,
                                    .tokens_per_day = 2,
                                    .rounds_per_turn = 3,
                                    .turn_timeout_ms = 4000,
                                    .usd_per_turn = 0.05,
                                    .usd_per_day = 6}));
  EXPECT_EQ(s.agent.prices, (std::vector{Price{.model = "small", .input = 0.25, .output = 1}}));
  EXPECT_EQ(s.agent.max_subagent_depth, 0U);
  EXPECT_EQ(s.agent.max_subagents, 7U);
  EXPECT_EQ(s.agent.max_parallel_tools, 8U);
  EXPECT_EQ(s.agent.files, Texts{folder_ / "AGENTS.md"});
  EXPECT_EQ(s.agent.skills, Texts{folder_ / "skills"});
  EXPECT_EQ(effective(s)["agent"]["budget"]["usd_per_turn"], 0.05);
  EXPECT_EQ(effective(s)["agent"]["approval"], "accept");
}

TEST_F(Config, ReadsToolServersAndPeers) {
  write("token", std::string(kCanary) + "\n");
  env_.insert(env_.end(), {{"KEY", kCanary}, {"PLAIN", kCanary}});
  const Snapshot s = good(R"(
mcp:
  servers:
    files: {args: [-y, "", .], command: npx, env: {TOKEN: {env: KEY}, LEVEL: "${PLAIN}"}, cwd: work}
    web-2: {url: "https://tools.example/mcp?x=1", headers: {Authorization: {file: token}, X-A: b}, tools: [get_*],
            start_timeout: 1s, call_timeout: 2s}
a2a: {peers: [{name: research, url: https://research.example/, bearer: {env: KEY}}]}
)");
  ASSERT_EQ(s.mcp.servers.size(), 2U);
  const McpServer& files = s.mcp.servers[0];
  EXPECT_EQ(files.name, "files");
  EXPECT_EQ(files.command, (Texts{"npx", "-y", "", "."}));
  EXPECT_EQ(files.env, (Environment{{"LEVEL", kCanary}}));
  ASSERT_EQ(files.secret_env.size(), 1U);
  EXPECT_EQ(files.secret_env[0].first, "TOKEN");
  EXPECT_EQ(files.secret_env[0].second.value, kCanary);
  EXPECT_EQ(files.cwd, folder_ / "work");
  const McpServer& web = s.mcp.servers[1];
  EXPECT_EQ(web.name, "web-2");
  EXPECT_TRUE(web.command.empty());
  EXPECT_EQ(web.url, "https://tools.example/mcp?x=1");
  EXPECT_EQ(web.headers, (Environment{{"X-A", "b"}}));
  EXPECT_EQ(web.secret_headers[0].second.source, "file " + (folder_ / "token").string());
  EXPECT_EQ(s.files.back(), web.secret_headers[0].second.source.substr(5));
  EXPECT_EQ(web.tools, Texts{"get_*"});
  EXPECT_EQ(web.start_timeout_ms, 1000);
  EXPECT_EQ(web.call_timeout_ms, 2000);
  ASSERT_EQ(s.a2a.peers.size(), 1U);
  EXPECT_EQ(s.a2a.peers[0].name, "research");
  EXPECT_EQ(s.a2a.peers[0].url, "https://research.example");
  EXPECT_EQ(s.a2a.peers[0].bearer->value, kCanary);
  // What stands in a variable or a header is not shown, whether it is said to be a secret or not.
  EXPECT_EQ(dump_json(effective(s)["mcp"]["servers"]["files"]),
            fmt::format(R"({{"command":"npx","args":["-y","","."],"env":{{"LEVEL":"***","TOKEN":"***"}},"cwd":"{}",)"
                        R"("start_timeout":"1m","call_timeout":"2m"}})",
                        (folder_ / "work").string()));
  EXPECT_EQ(dump_json(effective(s)).find(kCanary), std::string::npos);
}

}  // namespace
}  // namespace agentd::config
