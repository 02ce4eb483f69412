#include "config/config_fixture.h"
#include "config/origin.h"

namespace agentd::config {
namespace {

TEST_F(Config, WithoutAFileIsTheDefaults) {
  const auto snapshot = load({.file = "", .env = env_});
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->a2a.listen, Texts{"http://127.0.0.1:8420"});
  EXPECT_EQ(snapshot->store.path, "/h/someone/.local/state/agentd");
  EXPECT_EQ(snapshot->agent.model.provider, Provider::kScripted);
  EXPECT_FALSE(snapshot->a2a.bearer);
  EXPECT_EQ(good("").a2a.events.ring, 1024U);
  EXPECT_EQ(good("a2a:\nlog:\n  # level: debug\n").log.level, "info");
}

TEST_F(Config, ReadsEveryKey) {
  env_.emplace_back("ALICE_TOKEN", "alice-token");
  write("token", "operator-token\n");
  write("prompts/main.md", "Be brief.\n");
  const Snapshot s = good(R"(
agent:
  name: helper
  description: Helps.
  instructions: {file: prompts/main.md}
  model: {provider: scripted, script: rules/rules.yaml}
a2a:
  listen: [http://localhost:0, "http://[::1]:8421/"]
  url: https://agent.example/
  bearer: {file: token}
  principals:
    - {id: alice, match: {bearer_ref: {env: ALICE_TOKEN}}, role: user, rate: 20/10s}
    - {match: {any: true}, role: agent}
  cors: {origins: [https://ui.example, "http://localhost:3000/"]}
  events: {enabled: false, ring: 7, ring_bytes: 2MiB, deadline: 5s, write_timeout: 250ms, max_streams: 3,
           max_streams_per_principal: 2}
  introspection: {enabled: true}
store:
  kind: memory
  path: ./state
  retention: {tasks: {keep_last: 1, ttl: 1h}, runs: {keep_last: 2, ttl: 2h}, conversations: {keep_last: 3, ttl: 3h},
              audit: {keep_last: 4, ttl: 4h}}
log: {level: debug, format: json}
)");
  EXPECT_EQ(s.agent.name, "helper");
  EXPECT_EQ(s.agent.instructions, "Be brief.\n");
  EXPECT_EQ(s.agent.model.script, folder_ / "rules/rules.yaml");
  EXPECT_EQ(s.a2a.listen, (Texts{"http://127.0.0.1:0", "http://[::1]:8421"}));
  EXPECT_EQ(s.a2a.url, "https://agent.example");
  ASSERT_TRUE(s.a2a.bearer);
  EXPECT_EQ(s.a2a.bearer->value, "operator-token");
  EXPECT_EQ(s.a2a.bearer->source, "file " + (folder_ / "token").string());
  ASSERT_EQ(s.a2a.principals.size(), 2U);
  EXPECT_EQ(s.a2a.principals[0].id, "alice");
  EXPECT_EQ(s.a2a.principals[0].bearer->value, "alice-token");
  EXPECT_EQ(s.a2a.principals[0].bearer->source, "env ALICE_TOKEN");
  EXPECT_EQ(s.a2a.principals[0].role, Role::kUser);
  EXPECT_FALSE(s.a2a.principals[0].any);
  EXPECT_EQ(s.a2a.principals[0].rate, (Rate{.burst = 20, .per_ms = 10'000}));
  EXPECT_FALSE(s.a2a.principals[1].rate);
  EXPECT_TRUE(s.a2a.principals[1].any);
  EXPECT_EQ(s.a2a.principals[1].role, Role::kAgent);
  EXPECT_EQ(dump_json(effective(s)["a2a"]["events"]),
            R"({"enabled":false,"ring":7,"ring_bytes":"2MiB","deadline":"5s","write_timeout":"250ms",)"
            R"("max_streams":3,"max_streams_per_principal":2})");
  EXPECT_EQ(dump_json(effective(s)["a2a"]["principals"]),
            R"([{"id":"alice","match":{"bearer_ref":"***"},"role":"user","rate":"20/10s"},)"
            R"({"match":{"any":true},"role":"agent"}])");
  EXPECT_EQ(effective(s)["a2a"]["bearer"], "***");
  EXPECT_EQ(s.a2a.cors_origins, (Texts{"https://ui.example", "http://localhost:3000"}));
  EXPECT_EQ(effective(s)["a2a"]["cors"]["origins"], s.a2a.cors_origins);
  EXPECT_TRUE(s.a2a.introspection);
  EXPECT_EQ(s.store.path, folder_ / "state");
  EXPECT_EQ(s.store.runs.keep_last, 2U);
  EXPECT_EQ(s.store.conversations.ttl_ms, 3 * 3'600'000);
  EXPECT_EQ(s.store.audit.keep_last, 4U);
  EXPECT_EQ(s.store.audit.ttl_ms, 4 * 3'600'000);
  EXPECT_EQ(s.log.format, "json");
}

TEST_F(Config, ReportsEveryFaultOfTypeAndRangeInTheOrderOfTheFile) {
  EXPECT_EQ(faults("log: {level: waring, format: 3}\n"
                   "a2a:\n"
                   "  events:\n"
                   "    enabled: yes\n"
                   "    ring: 0\n"
                   "    ring_bytes: 1.5\n"
                   "    deadline: 600\n"
                   "    write_timeout: soon\n"
                   "    max_streams: -1\n"
                   "    max_streams_per_principal: \"5\"\n"
                   "  principals: {}\n"
                   "  introspection: 1\n"
                   "agent: {name: \"\", instructions: [], model: {script: 1}}\n"
                   "store: {kind: postgres}\n"),
            (Texts{
                "1:7: log.level: is not a choice; did you mean warn?; expected one of debug, info, warn, error",
                "1:22: log.format: is not a choice; expected one of auto, json, text",
                "4:5: a2a.events.enabled: is neither true nor false; expected true or false",
                "5:5: a2a.events.ring: is too small; expected an integer from 1 to 1000000",
                "6:5: a2a.events.ring_bytes: is not a size; expected a size such as 64MiB, from 1KiB to 16GiB",
                "7:5: a2a.events.deadline: has no unit; expected a duration such as 30s, from 100ms to 7d",
                "8:5: a2a.events.write_timeout: is not a duration; expected a duration such as 30s, from 100ms to "
                "1d",
                "9:5: a2a.events.max_streams: is negative; expected an integer from 1 to 1000000",
                "10:5: a2a.events.max_streams_per_principal: is not an integer; expected an integer from 1 to "
                "1000000",
                "11:3: a2a.principals: is not a list; expected a list of {id, match, role, grants, rate}",
                "12:3: a2a.introspection: is not a mapping; expected a mapping with members of enabled",
                "13:9: agent.name: has 0 bytes; expected a text of 1 to 128 bytes",
                "13:19: agent.instructions: is not a text: quote it; expected a text, or {file: PATH}",
                "13:45: agent.model.script: is not a text: quote it; expected a path",
                "14:9: store.kind: is not a choice; expected one of sqlite, memory",
            }));
  EXPECT_EQ(faults("- a\n"),
            (Texts{"1:1: is not a mapping; expected a mapping with members of agent, mcp, children, a2a, store, "
                   "workflows, log"}));
}

TEST_F(Config, TellsTheNearestKeyOfAnUnknownOne) {
  const std::string keys = "; expected a mapping with members of agent, mcp, children, a2a, store, workflows, log";
  EXPECT_EQ(faults("a2a:\n  lisen: x\n  ring: 5\n  zebra: 1\n'a2a.url': x\n"),
            (Texts{"2:3: a2a.lisen: is not a known key; did you mean a2a.listen?",
                   "3:3: a2a.ring: is not a known key; did you mean a2a.events.ring?",
                   "4:3: a2a.zebra: is not a known key; expected a mapping with members of listen, url, tls, "
                   "insecure, bearer, principals, device_grant, sessions, cors, events, introspection, peers",
                   "5:1: a2a.url: is not a known key" + keys}));
  EXPECT_EQ(faults("'': 1\n"), Texts{"1:1: is not a known key" + keys});
}

TEST_F(Config, SaysThatAKeyOfTheContractIsNotSupportedYet) {
  EXPECT_EQ(faults("a2a: {push: {enabled: true}}\n"), Texts{"1:7: a2a.push: is not supported by this version"});
}

TEST_F(Config, TakesOriginsOnlyAsBrowsersSendThem) {
  const std::string expected = "; expected an origin such as https://ui.example, or a list of them";
  const std::string unlike = "is not how browsers write it: in lower case, and without the scheme's own port";
  EXPECT_EQ(good("a2a: {cors: {origins: https://ui.example:8443}}\n").a2a.cors_origins,
            Texts{"https://ui.example:8443"});
  EXPECT_EQ(faults("a2a:\n  cors:\n    origins:\n      - '*'\n      - https://*.example\n      - 'null'\n"
                   "      - https://ui.example/app\n      - https://UI.example\n      - https://ui.example:443\n"
                   "      - http://ui.example:80\n      - ui.example\n      - 5\n"),
            (Texts{
                "4:9: a2a.cors.origins[0]: is every page of the web: name those that may call, one by one" + expected,
                "5:9: a2a.cors.origins[1]: its host is neither a name nor an address" + expected,
                "6:9: a2a.cors.origins[2]: is not an http or https URL" + expected,
                "7:9: a2a.cors.origins[3]: has more than a host and a port" + expected,
                "8:9: a2a.cors.origins[4]: " + unlike + expected,
                "9:9: a2a.cors.origins[5]: " + unlike + expected,
                "10:9: a2a.cors.origins[6]: " + unlike + expected,
                "11:9: a2a.cors.origins[7]: is not an http or https URL" + expected,
                "12:9: a2a.cors.origins[8]: is not a text" + expected,
            }));
  EXPECT_EQ(good("a2a: {cors: {origins: [https://ui.example:4430, http://ui.example:8080]}}\n").a2a.cors_origins.size(),
            2U);
}

TEST_F(Config, SaysWhatIsWrongWithARate) {
  const std::string expected = "; expected a rate such as 20/10s: 1 to 10000 requests, in 1s to 1d";
  const auto fault = [&](const std::string& rate) {
    const Texts all = faults("a2a: {principals: [{match: {any: true}, role: user, rate: " + rate + "}]}\n");
    if (all.size() != 1 || !all[0].starts_with("1:53: a2a.principals[0].rate: ") || !all[0].ends_with(expected)) {
      return fmt::format("{}", fmt::join(all, "\n"));
    }
    return all[0].substr(30, all[0].size() - 30 - expected.size());
  };
  for (const char* rate : {"5", "'20'", "fast", "[]"}) EXPECT_EQ(fault(rate), "is not a rate") << rate;
  for (const char* rate : {"/10s", "x/10s", "-1/10s", "1.5/10s", "' 1/10s'", "99999999999999999999/1s"}) {
    EXPECT_EQ(fault(rate), "does not begin with a whole number") << rate;
  }
  for (const char* rate : {"20/", "20/10", "20/s", "20/10s/1s"}) {
    EXPECT_EQ(fault(rate), "does not end with a duration") << rate;
  }
  EXPECT_EQ(fault("0/10s"), "is too small");
  EXPECT_EQ(fault("10001/10s"), "is too large");
  EXPECT_EQ(fault("1/999ms"), "has too short a duration");
  EXPECT_EQ(fault("1/25h"), "has too long a duration");
}

TEST_F(Config, RefusesAForgottenValue) {
  EXPECT_EQ(faults("a2a:\n  bearer:\n  principals:\n"),
            (Texts{"2:3: a2a.bearer: has no value; expected {env: NAME} or {file: PATH}",
                   "3:3: a2a.principals: has no value; expected a list of {id, match, role, grants, rate}"}));
}

TEST_F(Config, ReportsFaultsOfSyntaxWithTheirPlace) {
  EXPECT_EQ(faults("a2a: {}\na2a: {}\n"), Texts{"2:1: a2a: is given twice: on line 1 and on line 2"});
  EXPECT_EQ(to_string(load({.file = folder_ / "none.yaml", .env = env_}).error().front()),
            (folder_ / "none.yaml").string() + ": cannot be read: No such file or directory");
}

TEST_F(Config, RefusesWhatIsNoAddress) {
  const std::string expected =
      "; expected http://127.0.0.1:PORT, https://ADDRESS:PORT or unix:///PATH, or a list of them";
  EXPECT_EQ(
      faults(
          "a2a:\n  listen:\n    - http://agent.example:1\n    - https://localhost.evil.example:1\n    - unix://run/a\n"
          "    - http://127.0.0.1\n    - http://127.0.0.1:70000\n    - 8420\n    - http://127.x:1\n "
          "   - ftp://a\n"),
      (Texts{
          "3:7: a2a.listen[0]: its host is not an address of this machine" + expected,
          "4:7: a2a.listen[1]: its host is not an address of this machine" + expected,
          "5:7: a2a.listen[2]: the path of its socket is not absolute" + expected,
          "6:7: a2a.listen[3]: it names no port" + expected,
          "7:7: a2a.listen[4]: its port is not a number up to 65535" + expected,
          "8:7: a2a.listen[5]: is not a text" + expected,
          "9:7: a2a.listen[6]: its host is not an address of this machine" + expected,
          "10:7: a2a.listen[7]: is not a URL that can be listened on" + expected,
      }));
  EXPECT_EQ(faults("a2a: {listen: []}"), Texts{"1:7: a2a.listen: has 0 addresses; expected 1 to 16 of them"});
  for (const char* good_one : {"http://127.0.0.1:0", "http://127.1.2.3:80/", "http://[::1]:1", "http://[::2]:1",
                               "https://0.0.0.0:443", "unix:///run/a.sock"}) {
    EXPECT_TRUE(parse_listen(good_one)) << good_one;
  }
  for (const char* bad : {"http://[::1:1", "http://:1", "http://127.0.0.1:", "http://127.0.0.1:1/x",
                          "http://u@127.0.0.1:1", "http://127.0.0.1:-1", "http://127.evil.example:1", "http://[::1]1",
                          "unix:", "unix://", "unix:///", "unix:///run/"}) {
    EXPECT_FALSE(parse_listen(bad)) << bad;
  }
  EXPECT_TRUE(parse_listen("unix:///" + std::string(106, 'a')));
  EXPECT_FALSE(parse_listen("unix:///" + std::string(107, 'a')));
}

TEST_F(Config, ListensOffLoopbackOnlyWithTlsAndCallersThatCanBeToldApart) {
  env_.emplace_back("T", "t");
  const std::string clear =
      "an http:// address that others can reach sends tokens in the clear: listen on https:// with a2a.tls.cert and "
      "a2a.tls.key, or set a2a.insecure: true";
  const std::string callers =
      "an address that others can reach needs to know its callers: set a2a.bearer, a2a.principals or "
      "a2a.tls.client_ca";
  const std::string certificate = "an https:// address needs a certificate: set a2a.tls.cert and a2a.tls.key";
  for (const char* address :
       {"http://0.0.0.0:1", "http://192.0.2.1:1", "http://[::]:1", "http://[::ffff:127.0.0.1]:1"}) {
    EXPECT_EQ(faults(fmt::format("a2a: {{bearer: {{env: T}}, listen: \"{}\"}}", address)),
              Texts{"1:25: a2a.listen: " + clear})
        << address;
    good(fmt::format("a2a: {{insecure: true, listen: \"{}\"}}", address));
  }
  EXPECT_EQ(faults("a2a: {tls: {cert: c, key: k}, listen: [\"http://127.0.0.1:1\", \"https://[::]:1\"]}"),
            Texts{"1:62: a2a.listen[1]: " + callers});
  EXPECT_EQ(faults("a2a: {bearer: {env: T}, listen: \"https://127.0.0.1:1\"}"),
            Texts{"1:25: a2a.listen: " + certificate});
  EXPECT_EQ(faults("a2a: {tls: {cert: c}}"), Texts{"1:7: a2a.tls: misses key"});
  EXPECT_EQ(faults("a2a: {tls: {key: c}}"), Texts{"1:7: a2a.tls: misses cert"});

  const std::string base = "listen: \"https://0.0.0.0:1\", tls: {cert: c, key: sub/k";
  for (const char* known :
       {"}, bearer: {env: T}", ", client_ca: ca}", "}, principals: [{match: {any: true}, role: user}]"}) {
    const Snapshot s = good(fmt::format("a2a: {{{}{}}}", base, known));
    EXPECT_EQ(s.a2a.tls.cert, (folder_ / "c").string());
    EXPECT_EQ(s.a2a.tls.key, (folder_ / "sub/k").string());
  }
  good("a2a: {tls: {cert: c, key: k}, listen: \"https://127.0.0.1:1\"}");
}

TEST_F(Config, TakesAnOriginForTheCard) {
  for (const char* bad :
       {"agent.example", "ftp://a", "https://a/b", "https://a?q", "https://u:p@a", "https://a:x", "http://"}) {
    EXPECT_EQ(faults(fmt::format("a2a: {{url: \"{}\"}}", bad)).size(), 1U) << bad;
  }
  EXPECT_EQ(good("a2a: {url: \"http://[::1]:80\"}").a2a.url, "http://[::1]:80");
  EXPECT_EQ(good("a2a: {url: \"\"}").a2a.url, "");
}

TEST_F(Config, ChecksTheRulesOfPrincipals) {
  env_.emplace_back("T", "t");
  EXPECT_EQ(
      faults("a2a:\n"
             "  principals:\n"
             "    - {match: {any: true}, role: operator}\n"
             "    - {id: a, match: {bearer_ref: {env: T}}, role: user}\n"
             "    - {id: a, match: {bearer_ref: {env: T}}, role: agent}\n"
             "    - {match: {bearer_ref: {env: T}}, role: user}\n"
             "    - {match: {bearer_ref: {env: T}, any: true}, id: b, role: user}\n"
             "    - {match: {}, role: user}\n"
             "    - {match: {any: false}, role: boss}\n"
             "    - {id: c}\n"
             "    - 5\n"),
      (Texts{
          "3:28: a2a.principals[0].role: an `any` rule cannot grant operator: every caller would be one; "
          "expected "
          "user or agent",
          "5:8: a2a.principals[2].id: is the id of another rule, on line 4",
          "6:7: a2a.principals[3]: a bearer_ref rule misses id: what it owns is kept under it",
          "7:8: a2a.principals[4].match: has 2 members; expected a mapping with one of bearer_ref, san, sub, any",
          "8:8: a2a.principals[5].match: has 0 members; expected a mapping with one of bearer_ref, san, sub, any",
          "9:16: a2a.principals[6].match.any: is false; expected true, or no such key",
          "9:29: a2a.principals[6].role: is not a choice; expected one of operator, user, agent",
          "10:7: a2a.principals[7]: misses match; expected a mapping with one of bearer_ref, san, sub, any",
          "10:7: a2a.principals[7]: misses role; expected one of operator, user, agent",
          "11:7: a2a.principals[8]: is not a mapping; expected a mapping with members of id, match, role, grants, "
          "rate",
      }));
}

TEST_F(Config, WantsSomebodyWhoApprovesSignIns) {
  EXPECT_EQ(faults("a2a:\n  device_grant: {enabled: true}\n"),
            (Texts{"2:18: a2a.device_grant.enabled: is on, and there is no operator who could approve a sign-in; "
                   "expected a2a.bearer, or a rule of role operator in a2a.principals"}));
  EXPECT_EQ(faults("a2a:\n  bearer: {env: T}\n  device_grant: {enabled: true, scopes: [user, operator]}\n"),
            Texts{"2:3: a2a.bearer: the variable that it names is not set, or empty"});
  EXPECT_EQ(faults("a2a:\n  device_grant: {scopes: [root], token_ttl: 1m}\n"),
            (Texts{"2:27: a2a.device_grant.scopes[0]: is not a choice; expected a list of user, operator",
                   "2:34: a2a.device_grant.token_ttl: is too small; expected a duration such as 30s, from 5m to 30d"}));
}

TEST(ConfigFaults, AreAlsoJson) {
  EXPECT_EQ(
      dump_json(faults_to_json({{.file = "f", .line = 2, .column = 3, .path = "a.b", .message = "m", .expected = "e"},
                                {.message = "alone"}})),
      R"([{"message":"m","file":"f","line":2,"column":3,"path":"a.b","expected":"e"},{"message":"alone"}])");
}

}  // namespace
}  // namespace agentd::config
