// What is wrong with the keys of the agent's work, and how it is said.
#include "config/agent_rules.h"

#include <algorithm>

#include "config/config_fixture.h"

namespace agentd::config {
namespace {

TEST_F(Config, WantsWhatAModelNeedsAndNothingElse) {
  env_.emplace_back("K", "k");
  EXPECT_EQ(faults("agent:\n  model: {provider: openai}\n"),
            (Texts{"2:3: agent.model: misses model; expected its name, as the provider has it",
                   "2:3: agent.model: misses api_key, which the provider's own endpoint asks for; expected "
                   "{env: NAME} or {file: PATH}"}));
  EXPECT_EQ(faults("agent:\n  model:\n    provider: anthropic\n    model: m\n    script: rules.yaml\n"
                   "    endpoint: https://a.example\n    endpoints: [https://a.example]\n"),
            (Texts{"5:5: agent.model.script: is for the scripted model alone; expected no such key",
                   "6:5: agent.model.endpoint: is given beside endpoints; expected one of the two"}));
  // A forgotten provider must not leave the built-in rules to answer.
  EXPECT_EQ(faults("agent:\n  model:\n    model: m\n    api_key: {env: K}\n"),
            (Texts{"3:5: agent.model.model: is of no use to the scripted model; expected agent.model.provider of "
                   "openai or anthropic",
                   "4:5: agent.model.api_key: is of no use to the scripted model; expected agent.model.provider of "
                   "openai or anthropic"}));
  EXPECT_EQ(
      faults("agent:\n  model: {provider: opnai, model: m}\n"),
      Texts{"2:11: agent.model.provider: is not a choice; did you mean openai?; expected one of scripted, openai, "
            "anthropic"});
  good("agent: {model: {provider: openai, model: m, endpoint: http://127.0.0.1:1/v1}}");
  good("agent: {model: {provider: openai, model: m, api_key: {env: K}}}");
}

TEST_F(Config, SaysWhatIsWrongWithTheModelsPlacesAndNumbers) {
  const std::string url = "; expected a URL such as https://api.example/v1";
  EXPECT_EQ(
      faults("agent:\n  model:\n    provider: openai\n    model: m\n    temperature: 2.1\n    retries: 1.5\n"
             "    endpoints:\n      - ftp://a.example\n      - https://a.example/v1?x=1\n"
             "      - {url: 'https://a.example/#x'}\n      - {model: m}\n      - https://u:p@a.example\n      - 5\n"
             "    api_key: sk-" +
             std::string(kCanary) + "\n"),
      (Texts{
          "5:5: agent.model.temperature: is too large; expected a number from 0 to 2",
          "6:5: agent.model.retries: is not an integer; expected an integer from 0 to 100",
          "8:9: agent.model.endpoints[0].url: is not an http or https URL" + url,
          "9:9: agent.model.endpoints[1].url: has a query" + url,
          "10:10: agent.model.endpoints[2].url: has a fragment, or characters that no URL has" + url,
          "11:9: agent.model.endpoints[3]: misses url" + url,
          "12:9: agent.model.endpoints[4].url: names a user: what is secret has a key of its own" + url,
          "13:9: agent.model.endpoints[5]: is not a mapping; expected a mapping with members of url, model, "
          "api_key",
          "14:5: agent.model.api_key: a secret is a reference, never the secret itself: write {env: NAME} or "
          "{file: PATH}",
      }));
  EXPECT_EQ(
      faults("agent: {model: {provider: openai, model: m, endpoints: [], temperature: hot}}"),
      (Texts{"1:45: agent.model.endpoints: is too small; expected a list of 1 to 16 URLs, or of {url, model, api_key}",
             "1:60: agent.model.temperature: is not a number; expected a number from 0 to 2"}));
  env_.emplace_back("AGENTD_AGENT_MODEL_TEMPERATURE", "0.5");
  EXPECT_EQ(good("").agent.model.temperature, 0.5);
}

TEST_F(Config, ABudgetInDollarsNeedsPrices) {
  const std::string model =
      "agent:\n  model: {provider: openai, model: m, endpoints: [http://127.0.0.1:1, {url: 'http://127.0.0.1:2', "
      "model: "
      "n}]}\n";
  EXPECT_EQ(
      faults(model + "  budget: {usd_per_day: 5}\n  prices: [{model: m, input: 1, output: 2}]\n"),
      Texts{"3:12: agent.budget.usd_per_day: needs the price of agent.model.endpoints[1].model, which is not among "
            "agent.prices; expected {model, input, output} there"});
  EXPECT_EQ(faults("agent:\n  model: {provider: openai, model: m, endpoint: http://127.0.0.1:1}\n"
                   "  budget: {usd_per_turn: 0.01, usd_per_day: 0}\n"),
            Texts{"3:12: agent.budget.usd_per_turn: needs the price of agent.model.model, which is not among "
                  "agent.prices; expected {model, input, output} there"});
  good(model +
       "  budget: {usd_per_turn: 5}\n  prices: [{model: m, input: 1, output: 2}, {model: n, input: 0, output: 0}]\n");
  good("agent: {budget: {usd_per_day: 5}}");  // the scripted model costs none
  EXPECT_EQ(faults("agent:\n  prices:\n    - {model: m, input: 1, output: 2}\n    - {model: m, input: -1}\n"),
            (Texts{"4:7: agent.prices[1]: misses output; expected a number from 0 to 1000000",
                   "4:8: agent.prices[1].model: is that of another one, on line 3",
                   "4:18: agent.prices[1].input: is too small; expected a number from 0 to 1000000"}));
}

TEST_F(Config, FilesAndSkillsAreThere) {
  write("latin", "\xe9");
  EXPECT_EQ(faults("agent:\n  files: [latin, none.md]\n  skills: [latin, '']\n"),
            (Texts{"2:11: agent.files[0]: the file cannot be read: it is not UTF-8",
                   "2:18: agent.files[1]: the file cannot be read: No such file or directory",
                   "3:19: agent.skills[1]: is not a path; expected a list of 0 to 64 paths"}));
  EXPECT_EQ(faults("agent:\n  skills: [latin]\n"),
            Texts{"2:12: agent.skills[0]: is not a folder; expected a folder with a folder for each skill"});
}

TEST_F(Config, WhatIsReadIntoTheInstructionsIsReadAndWatched) {
  const std::string file = write("AGENTS.md", "Be brief.");
  write("skills/release/SKILL.md", "---\nname: release\n---\n");
  const Snapshot before = good("agent: {files: [AGENTS.md], skills: [skills]}");
  EXPECT_EQ(before.agent.guidance, Texts{"Be brief."});
  for (const std::string& watched : {file, (folder_ / "skills/release/SKILL.md").string()}) {
    EXPECT_NE(std::ranges::find(before.files, watched), before.files.end()) << watched;
  }
  write("AGENTS.md", "Be thorough.");
  EXPECT_EQ(changes(before, good("agent: {files: [AGENTS.md], skills: [skills]}")), Texts{"agent.files"});
}

TEST_F(Config, EverySecretIsKnownForWhatItIs) {
  for (const char* letter : {"a", "b", "c", "d", "e", "f", "g", "h"})
    env_.emplace_back(letter, std::string(letter) + "-secret");
  const Snapshot snapshot = good(
      "a2a:\n  bearer: {env: a}\n  principals: [{id: x, role: user, match: {bearer_ref: {env: b}}}]\n"
      "  peers: [{name: p, url: 'https://p', bearer: {env: c}}]\n"
      "agent: {model: {provider: openai, model: m, api_key: {env: d}}}\n"
      "mcp: {servers: {s: {command: x, env: {K: {env: e}}}, t: {url: 'https://t', headers: {H: {env: f}},\n"
      "  oauth: {client_id: x, client_secret: {env: g}, grant: client_credentials}},\n"
      "  u: {url: 'https://u', oauth: {client_id: x, private_key: {env: h}}}}}\n");
  Texts known = secrets_of(snapshot);
  std::ranges::sort(known);
  EXPECT_EQ(known,
            (Texts{"a-secret", "b-secret", "c-secret", "d-secret", "e-secret", "f-secret", "g-secret", "h-secret"}));
}

TEST_F(Config, SaysWhatIsWrongWithAToolServer) {
  env_.emplace_back("LINES", "a\nb");
  EXPECT_EQ(
      faults("mcp:\n  servers:\n    my files: {command: x}\n    a:\n    b: {command: x, url: 'http://a'}\n"
             "    c: {url: 'http://a', args: [], env: {}, cwd: x}\n    d: {command: x, headers: {}, tools: ['']}\n"
             "    e: {command: x, env: {'A-B': x, C: 5, D: {value: x}, E: {env: NONE}, F: \"a\\0b\"}}\n"
             "    f: {url: 'http://a', headers: {'A B': x, C: \"x\\r\\ny\", D: {env: LINES}}}\n"
             "    g: {comand: x}\n    h: 5\n    i: {url: ''}\n    j: {command: x, oauth: {scope: x}}\n"
             "    k: {url: 'http://a', oauth: {grant: client_credentials, client_id: x}}\n"
             "    l: {url: 'http://a', oauth: {grant: password}}\n"),
      (Texts{
          "3:5: mcp.servers.my files: its name is not one of a server; expected 1 to 64 of a-z, A-Z, 0-9, _ and -",
          "4:5: mcp.servers.a: misses command, or url; expected exactly one of the two",
          "5:5: mcp.servers.b: has both command and url; expected exactly one of the two",
          "6:26: mcp.servers.c.args: is for a server with command; expected no such key",
          "6:36: mcp.servers.c.env: is for a server with command; expected no such key",
          "6:45: mcp.servers.c.cwd: is for a server with command; expected no such key",
          "7:21: mcp.servers.d.headers: is for a server with url; expected no such key",
          "7:42: mcp.servers.d.tools[0]: is not a text; expected a list of 0 to 256 texts",
          "8:27: mcp.servers.e.env.A-B: is not the name of a variable",
          "8:37: mcp.servers.e.env.C: is not a text: quote it; expected a text, {env: NAME} or {file: PATH}",
          "8:43: mcp.servers.e.env.D: a secret is a reference, never the secret itself: write {env: NAME} or {file: "
          "PATH}",
          "8:58: mcp.servers.e.env.E: the variable that it names is not set, or empty",
          "8:74: mcp.servers.e.env.F: has a character that it cannot have",
          "9:36: mcp.servers.f.headers.A B: is not the name of a header",
          "9:46: mcp.servers.f.headers.C: has a character that it cannot have",
          "9:59: mcp.servers.f.headers.D: has a character that it cannot have",
          "10:5: mcp.servers.g: misses command, or url; expected exactly one of the two",
          "10:9: mcp.servers.g.comand: is not a known key; did you mean mcp.servers[].command?",
          "11:5: mcp.servers.h: is not a mapping; expected a mapping with members of command, args, env, cwd, url, "
          "headers, oauth, tools, start_timeout, call_timeout",
          "12:9: mcp.servers.i.url: is not an http or https URL; expected a URL such as https://tools.example/mcp",
          "13:21: mcp.servers.j.oauth: is for a server with url; expected no such key",
          "14:26: mcp.servers.k.oauth: grant client_credentials needs more; expected client_id, and client_secret or "
          "private_key",
          "15:34: mcp.servers.l.oauth.grant: is not a choice; expected one of authorization_code, client_credentials",
      }));
}

TEST_F(Config, PeersHaveNamesOfTheirOwn) {
  EXPECT_EQ(faults("a2a:\n  peers:\n    - {name: a, url: https://a.example}\n    - {name: a, url: https://b.example}\n"
                   "    - {name: A b, url: b.example}\n    - {}\n"),
            (Texts{"4:8: a2a.peers[1].name: is that of another one, on line 3",
                   "5:8: a2a.peers[2].name: is not a name; expected 1 to 32 of a-z, 0-9, _ and -",
                   "5:19: a2a.peers[2].url: is not an http or https URL; expected a URL such as https://api.example/v1",
                   "6:7: a2a.peers[3]: misses name; expected 1 to 32 of a-z, 0-9, _ and -",
                   "6:7: a2a.peers[3]: misses url; expected a URL such as https://api.example/v1"}));
}

}  // namespace
}  // namespace agentd::config
