#include "config/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace agentd::config {
namespace {

using enum Type;
using enum Flag;

constexpr std::uint64_t kKiB = 1U << 10U;
constexpr std::uint64_t kGiB = 1U << 30U;
constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kDay = 86'400 * kSecond;
constexpr std::uint64_t kMillion = 1'000'000;

constexpr std::array<std::string_view, 3> kProviders = {"scripted", "openai", "anthropic"};
constexpr std::array<std::string_view, 3> kApprovals = {"ask", "auto", "accept"};
constexpr std::array<std::string_view, 2> kGrants = {"authorization_code", "client_credentials"};
constexpr std::array<std::string_view, 4> kNobody = {"fail", "wait", "deny", "auto"};
constexpr std::array<std::string_view, 3> kRoles = {"operator", "user", "agent"};
constexpr std::array<std::string_view, 2> kStores = {"sqlite", "memory"};
constexpr std::array<std::string_view, 2> kScopes = {"user", "operator"};
constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warn", "error"};
constexpr std::array<std::string_view, 3> kFormats = {"auto", "json", "text"};

#define AGENTD_SLOT(member) [](Snapshot& s) -> Slot { return &s.member; }
#define AGENTD_VARIABLES(item, member) \
  [](Snapshot& s) -> Slot { return Variables{&s.item.member, &s.item.secret_##member}; }

// clang-format off
// path, type, flag, slot, default, bounds, description, choices
constexpr Row kRows[] = {
    {"", kSection, kNone, nullptr, "", {},
     "Configuration of agentd, as it stands after ${VARIABLE} and AGENTD_… are put in."},

    {"agent", kSection, kNone, nullptr, "", {}, "Who the agent is."},
    {"agent.name", kString, kNone, AGENTD_SLOT(agent.name), "agentd", {1, 128}, "Name on the agent card."},
    {"agent.description", kString, kNone, AGENTD_SLOT(agent.description),
     "A self-hosted agent that lets you watch all of it.", {1, 4096}, "Description on the agent card."},
    {"agent.instructions", kText, kNone, AGENTD_SLOT(agent.instructions), "", {0, 256 * kKiB},
     "What the model is told before all else."},
    {"agent.model", kSection, kNone, nullptr, "", {}, "The model that answers."},
    {"agent.model.provider", kChoice, kNone, AGENTD_SLOT(agent.model.provider), "scripted", {},
     "How the model is spoken to; scripted: answers by rules, without a network.", kProviders},
    {"agent.model.script", kPath, kNone, AGENTD_SLOT(agent.model.script), "", {},
     "Rules of the scripted model; without it, the built-in ones."},
    {"agent.model.endpoint", kEndpoint, kNone, AGENTD_SLOT(agent.model.endpoints), "", {},
     "Where the model is served, up to /chat/completions or /messages; without it, the provider's own."},
    {"agent.model.endpoints", kEndpoints, kNone, AGENTD_SLOT(agent.model.endpoints), "", {1, 16},
     "Several in place of one: the first that answers."},
    {"agent.model.endpoints[]", kSection, kNone, nullptr, "", {}, "One of them; or its url alone."},
    {"agent.model.endpoints[].url", kBase, kRequired, AGENTD_SLOT(agent.model.endpoints.back().url), "", {},
     "Where it is."},
    {"agent.model.endpoints[].model", kString, kNone, AGENTD_SLOT(agent.model.endpoints.back().model), "", {1, 256},
     "What the model is called there; without it, as elsewhere."},
    {"agent.model.endpoints[].api_key", kSecret, kNone, AGENTD_SLOT(agent.model.endpoints.back().api_key), "", {},
     "What the daemon is known by there; without it, by agent.model.api_key."},
    {"agent.model.model", kString, kNone, AGENTD_SLOT(agent.model.name), "", {1, 256},
     "Its name, as the provider has it; all but scripted need one."},
    {"agent.model.api_key", kSecret, kNone, AGENTD_SLOT(agent.model.api_key), "", {}, "What the provider knows the daemon by."},
    {"agent.model.max_tokens", kInteger, kNone, AGENTD_SLOT(agent.model.max_tokens), "8192", {1, kMillion},
     "Longest answer of one round, in tokens."},
    {"agent.model.temperature", kNumber, kNone, AGENTD_SLOT(agent.model.temperature), "", {0, 2},
     "How freely the model chooses its words; without it, the provider's own."},
    {"agent.model.context_tokens", kInteger, kNone, AGENTD_SLOT(agent.model.context_tokens), "128000",
     {1024, 100 * kMillion}, "Tokens of instructions, conversation and tools together; what is older is made shorter."},
    {"agent.model.ca", kPath, kNone, AGENTD_SLOT(agent.model.ca), "", {},
     "CA certificates in PEM for the endpoint; without it, the system's."},
    {"agent.model.proxy", kUrl, kNone, AGENTD_SLOT(agent.model.proxy), "", {}, "HTTP proxy on the way to the endpoint."},
    {"agent.model.connect_timeout", kDuration, kNone, AGENTD_SLOT(agent.model.connect_timeout_ms), "10s",
     {100, 3600 * kSecond}, "How long a connection may take to be there."},
    {"agent.model.first_byte_timeout", kDuration, kNone, AGENTD_SLOT(agent.model.first_byte_timeout_ms), "2m",
     {100, kDay}, "How long the model may take to begin its answer."},
    {"agent.model.silence_timeout", kDuration, kNone, AGENTD_SLOT(agent.model.silence_timeout_ms), "1m",
     {100, kDay}, "How long it may then be silent."},
    {"agent.model.retries", kInteger, kNone, AGENTD_SLOT(agent.model.retries), "4", {0, 100},
     "Further attempts at one round, over all endpoints."},
    {"agent.approval", kChoice, kNone, AGENTD_SLOT(agent.approval), "ask", {},
     "Which tools a person is asked about; ask: each that may change something, auto: those that do not say that they "
     "only read, accept: none.", kApprovals},
    {"agent.nobody", kChoice, kNone, AGENTD_SLOT(agent.nobody), "wait", {},
     "What becomes of a question when nobody is there to answer.", kNobody},
    {"agent.ask_timeout", kDuration, kNone, AGENTD_SLOT(agent.ask_timeout_ms), "1h", {0, 365 * kDay},
     "How long a question waits for its answer; 0s: without end."},
    {"agent.budget", kSection, kNone, nullptr, "", {}, "What the agent may use up; 0: as much as it likes."},
    {"agent.budget.tokens_per_turn", kInteger, kNone, AGENTD_SLOT(agent.budget.tokens_per_turn), "0",
     {0, kMillion * kMillion}, "Tokens of one turn."},
    {"agent.budget.tokens_per_day", kInteger, kNone, AGENTD_SLOT(agent.budget.tokens_per_day), "0",
     {0, kMillion * kMillion}, "Tokens of one day."},
    {"agent.budget.rounds_per_turn", kInteger, kNone, AGENTD_SLOT(agent.budget.rounds_per_turn), "30",
     {0, kMillion}, "Times that one turn may call the model."},
    {"agent.budget.turn_timeout", kDuration, kNone, AGENTD_SLOT(agent.budget.turn_timeout_ms), "10m",
     {0, 365 * kDay}, "How long one turn may take; 0s: without end."},
    {"agent.budget.usd_per_turn", kNumber, kNone, AGENTD_SLOT(agent.budget.usd_per_turn), "0", {0, kMillion},
     "Dollars of one turn; needs the model's price."},
    {"agent.budget.usd_per_day", kNumber, kNone, AGENTD_SLOT(agent.budget.usd_per_day), "0", {0, kMillion},
     "Dollars of one day; needs the model's price."},
    {"agent.prices", kItems, kNone, AGENTD_SLOT(agent.prices), "", {}, "What models cost."},
    {"agent.prices[]", kSection, kNone, nullptr, "", {}, "What one costs, in dollars for a million tokens."},
    {"agent.prices[].model", kString, kRequired, AGENTD_SLOT(agent.prices.back().model), "", {1, 256},
     "Its name, as the provider has it."},
    {"agent.prices[].input", kNumber, kRequired, AGENTD_SLOT(agent.prices.back().input), "", {0, kMillion},
     "Tokens that it reads."},
    {"agent.prices[].output", kNumber, kRequired, AGENTD_SLOT(agent.prices.back().output), "", {0, kMillion},
     "Tokens that it writes."},
    {"agent.max_subagent_depth", kInteger, kNone, AGENTD_SLOT(agent.max_subagent_depth), "3", {0, 64},
     "How deep subagents may start others; 0: there are none."},
    {"agent.max_subagents", kInteger, kNone, AGENTD_SLOT(agent.max_subagents), "16", {1, 1000}, "Subagents at once."},
    {"agent.max_parallel_tools", kInteger, kNone, AGENTD_SLOT(agent.max_parallel_tools), "4", {1, 64},
     "Tools of one round that work at once."},
    {"agent.files", kPaths, kNone, AGENTD_SLOT(agent.files), "", {0, 64},
     "Files such as AGENTS.md that are read into the instructions."},
    {"agent.skills", kPaths, kNone, AGENTD_SLOT(agent.skills), "", {0, 64},
     "Folders of skills: each has a folder with SKILL.md for every one."},

    {"mcp", kSection, kNone, nullptr, "", {}, "Tools of others, by the Model Context Protocol."},
    {"mcp.servers", kNamed, kNone, AGENTD_SLOT(mcp.servers), "", {0, 64},
     "Servers by name: each a program, or a URL."},
    {"mcp.servers[]", kSection, kNone, nullptr, "", {}, "One server, of exactly one of command and url."},
    {"mcp.servers[].command", kProgram, kNone, AGENTD_SLOT(mcp.servers.back().command), "", {1, 4096},
     "Program that is the server, on its standard input and output."},
    {"mcp.servers[].args", kArguments, kNone, AGENTD_SLOT(mcp.servers.back().command), "", {0, 256}, "Its arguments."},
    {"mcp.servers[].env", kVariables, kNone, AGENTD_VARIABLES(mcp.servers.back(), env), "", {0, 256},
     "Its variables, beside a few of the daemon's; a value may be a reference to a secret."},
    {"mcp.servers[].cwd", kPath, kNone, AGENTD_SLOT(mcp.servers.back().cwd), "", {}, "Folder it runs in."},
    {"mcp.servers[].url", kWeb, kNone, AGENTD_SLOT(mcp.servers.back().url), "", {}, "Where the server is, over HTTP."},
    {"mcp.servers[].headers", kHeaders, kNone, AGENTD_VARIABLES(mcp.servers.back(), headers), "", {0, 64},
     "Headers of each request to it; a value may be a reference to a secret."},
    {"mcp.servers[].oauth", kSection, kNone, nullptr, "", {},
     "How the daemon is let in by a server with url that wants OAuth; what is left out is found out."},
    {"mcp.servers[].oauth.client_id", kString, kNone, AGENTD_SLOT(mcp.servers.back().oauth.client_id), "", {1, 2048},
     "What the daemon was registered as there; without it, it registers itself."},
    {"mcp.servers[].oauth.client_secret", kSecret, kNone, AGENTD_SLOT(mcp.servers.back().oauth.client_secret), "", {},
     "The secret that came with it."},
    {"mcp.servers[].oauth.private_key", kSecret, kNone, AGENTD_SLOT(mcp.servers.back().oauth.private_key), "", {},
     "Instead of a secret: the key in PEM (P-256 or RSA) with which it shows who it is."},
    {"mcp.servers[].oauth.scope", kString, kNone, AGENTD_SLOT(mcp.servers.back().oauth.scope), "", {1, 2048},
     "What to ask for; without it, what the server says."},
    {"mcp.servers[].oauth.grant", kChoice, kNone, AGENTD_SLOT(mcp.servers.back().oauth.grant), "", {},
     "authorization_code, which is meant without it: a person signs in; client_credentials: the daemon does.", kGrants},
    {"mcp.servers[].tools", kList, kNone, AGENTD_SLOT(mcp.servers.back().tools), "", {0, 256},
     "Tools that the agent may use, as globs; without it, all."},
    {"mcp.servers[].start_timeout", kDuration, kNone, AGENTD_SLOT(mcp.servers.back().start_timeout_ms), "1m",
     {100, 3600 * kSecond}, "How long it may take until it says what its tools are."},
    {"mcp.servers[].call_timeout", kDuration, kNone, AGENTD_SLOT(mcp.servers.back().call_timeout_ms), "2m",
     {100, 7 * kDay}, "How long one call of a tool may take."},
    {"mcp.files", kPaths, kNone, AGENTD_SLOT(mcp.files), "", {0, 64},
     "Further servers, in mcpServers documents such as .mcp.json."},

    {"children", kSection, kNone, nullptr, "", {},
     "What each child process may use, with all that it starts: MCP servers, subagents, commands of workflows. Needs cgroup v2."},
    {"children.memory", kSize, kRestart, AGENTD_SLOT(children.memory), "0", {0, kMillion * kMillion},
     "Bytes of memory; more, and all of it is killed. 0: as much as there is."},
    {"children.processes", kInteger, kRestart, AGENTD_SLOT(children.processes), "0", {0, kMillion},
     "Processes and threads. 0: as many as it likes."},
    {"children.cpu", kNumber, kRestart, AGENTD_SLOT(children.cpu), "0", {0, 1024}, "Processors, such as 1.5. 0: all."},

    {"a2a", kSection, kNone, nullptr, "", {},
     "The A2A interface: addresses, callers, the events extension."},
    {"a2a.listen", kListen, kRestart, AGENTD_SLOT(a2a.listen), "http://127.0.0.1:8420", {1, 16},
     "Address to listen on, or a list of them; port 0 takes a free one."},
    {"a2a.url", kUrl, kRestart, AGENTD_SLOT(a2a.url), "", {},
     "Origin that the agent card names; without it, the first address."},
    {"a2a.tls", kSection, kNone, nullptr, "", {},
     "For https:// addresses; the files are read again when they change."},
    {"a2a.tls.cert", kPath, kRestart, AGENTD_SLOT(a2a.tls.cert), "", {},
     "Certificate chain in PEM, the daemon's own first."},
    {"a2a.tls.key", kPath, kRestart, AGENTD_SLOT(a2a.tls.key), "", {}, "Its private key in PEM, without a passphrase."},
    {"a2a.tls.client_ca", kPath, kRestart, AGENTD_SLOT(a2a.tls.client_ca), "", {},
     "CA of client certificates; without it, clients are not asked for one."},
    {"a2a.insecure", kBoolean, kRestart, AGENTD_SLOT(a2a.insecure), "false", {},
     "Lets http:// addresses be other than loopback: everything, tokens too, can then be read on the way."},
    {"a2a.bearer", kSecret, kRestart, AGENTD_SLOT(a2a.bearer), "", {}, "Token of the operator."},
    {"a2a.principals", kItems, kNone, AGENTD_SLOT(a2a.principals), "", {},
     "Who else may call: the first rule that matches says who."},
    {"a2a.principals[]", kSection, kNone, nullptr, "", {}, "One rule."},
    {"a2a.principals[].id", kString, kNone, AGENTD_SLOT(a2a.principals.back().id), "", {1, 128},
     "What tasks and runs belong to, with the role before it."},
    {"a2a.principals[].match", kSection, kRequired, nullptr, "", {1, 1},
     "What the caller presents: exactly one of these."},
    {"a2a.principals[].match.bearer_ref", kSecret, kNone, AGENTD_SLOT(a2a.principals.back().bearer), "", {},
     "This bearer token."},
    {"a2a.principals[].match.san", kString, kNone, AGENTD_SLOT(a2a.principals.back().san), "", {1, 1024},
     "A client certificate with this subject alternative name, or CN; one * stands for anything."},
    {"a2a.principals[].match.sub", kString, kNone, AGENTD_SLOT(a2a.principals.back().sub), "", {1, 1024},
     "A client certificate with this CN."},
    {"a2a.principals[].match.any", kTrue, kNone, AGENTD_SLOT(a2a.principals.back().any), "", {},
     "Anything or nothing: every caller that no credential names."},
    {"a2a.principals[].role", kChoice, kRequired, AGENTD_SLOT(a2a.principals.back().role), "", {},
     "What the caller may do.", kRoles},
    {"a2a.principals[].grants", kList, kNone, AGENTD_SLOT(a2a.principals.back().grants), "", {0, 256},
     "Ops beyond those of the role, as globs; workflow.run:GLOB are the only workflows it may run."},
    {"a2a.principals[].rate", kRate, kNone, AGENTD_SLOT(a2a.principals.back().rate), "", {1, 10'000},
     "Requests at once, and the time in which as many more may follow; operators are exempt."},
    {"a2a.device_grant", kSection, kNone, nullptr, "", {},
     "Sign-in of people and devices: they ask, an operator approves."},
    {"a2a.device_grant.enabled", kBoolean, kRestart, AGENTD_SLOT(a2a.device_grant.enabled), "false", {},
     "Whether it is there."},
    {"a2a.device_grant.scopes", kList, kRestart, AGENTD_SLOT(a2a.device_grant.scopes), "", {1, 2},
     "What may be asked for; without it, user.", kScopes},
    {"a2a.device_grant.token_ttl", kDuration, kRestart, AGENTD_SLOT(a2a.device_grant.token_ttl_ms), "8h",
     {300 * kSecond, 30 * kDay}, "Life of a sign-in."},
    {"a2a.device_grant.code_ttl", kDuration, kRestart, AGENTD_SLOT(a2a.device_grant.code_ttl_ms), "10m",
     {kSecond, 3600 * kSecond}, "How long a code waits for its approval."},
    {"a2a.sessions", kSection, kNone, nullptr, "", {}, "What a sign-in becomes."},
    {"a2a.sessions.persist", kBoolean, kRestart, AGENTD_SLOT(a2a.sessions_persist), "true", {},
     "Whether sign-ins outlive a restart."},
    {"a2a.cors", kSection, kNone, nullptr, "", {}, "Pages of other origins, in browsers."},
    {"a2a.cors.origins", kOrigins, kNone, AGENTD_SLOT(a2a.cors_origins), "", {0, 256},
     "Origins whose pages may call, with a credential of their own: https://ui.example."},
    {"a2a.events", kSection, kNone, nullptr, "", {}, "The events extension."},
    {"a2a.events.enabled", kBoolean, kRestart, AGENTD_SLOT(a2a.events.enabled), "true", {},
     "Whether the card declares it."},
    {"a2a.events.ring", kInteger, kRestart, AGENTD_SLOT(a2a.events.ring), "1024", {1, kMillion},
     "Events kept for replay."},
    {"a2a.events.ring_bytes", kSize, kRestart, AGENTD_SLOT(a2a.events.ring_bytes),
     "64MiB", {kKiB, 16 * kGiB}, "Bytes of events kept for replay."},
    {"a2a.events.deadline", kDuration, kRestart, AGENTD_SLOT(a2a.events.deadline_ms),
     "10m", {100, 7 * kDay}, "Longest life of one stream; its reader then comes again."},
    {"a2a.events.write_timeout", kDuration, kRestart, AGENTD_SLOT(a2a.events.write_timeout_ms),
     "30s", {100, kDay}, "A stream whose reader takes no byte for so long is closed."},
    {"a2a.events.max_streams", kInteger, kRestart, AGENTD_SLOT(a2a.events.max_streams),
     "10000", {1, kMillion}, "Streams open at once."},
    {"a2a.events.max_streams_per_principal", kInteger, kRestart,
     AGENTD_SLOT(a2a.events.max_streams_per_principal), "64", {1, kMillion},
     "Streams open at once for one principal; operators are exempt."},
    {"a2a.introspection", kSection, kNone, nullptr, "", {},
     "The ops that show the inside, and audit events on the feed."},
    {"a2a.introspection.enabled", kBoolean, kNone, AGENTD_SLOT(a2a.introspection), "false", {},
     "Whether they are there."},
    {"a2a.peers", kItems, kNone, AGENTD_SLOT(a2a.peers), "", {}, "Other agents that this one may ask."},
    {"a2a.peers[]", kSection, kNone, nullptr, "", {}, "One of them."},
    {"a2a.peers[].name", kName, kRequired, AGENTD_SLOT(a2a.peers.back().name), "", {1, 32}, "What the agent calls it."},
    {"a2a.peers[].url", kBase, kRequired, AGENTD_SLOT(a2a.peers.back().url), "", {}, "Where its agent card is found."},
    {"a2a.peers[].bearer", kSecret, kNone, AGENTD_SLOT(a2a.peers.back().bearer), "", {}, "Token to show it."},

    {"store", kSection, kNone, nullptr, "", {}, "What outlives the process."},
    {"store.kind", kChoice, kRestart, AGENTD_SLOT(store.kind), "sqlite", {},
     "Where it is kept; memory: nowhere.", kStores},
    {"store.path", kPath, kRestart, AGENTD_SLOT(store.path), "", {},
     "Folder of the store; without it, agentd in $XDG_STATE_HOME or ~/.local/state."},
    {"store.retention", kSection, kNone, nullptr, "", {},
     "How long what is over is kept; the first bound that is met counts."},
    {"store.retention.tasks", kSection, kNone, nullptr, "", {}, "Tasks that ended."},
    {"store.retention.tasks.keep_last", kInteger, kNone, AGENTD_SLOT(store.tasks.keep_last),
     "10000", {0, 100 * kMillion}, "How many."},
    {"store.retention.tasks.ttl", kDuration, kNone, AGENTD_SLOT(store.tasks.ttl_ms),
     "30d", {1, 36'500 * kDay}, "How long."},
    {"store.retention.runs", kSection, kNone, nullptr, "", {}, "Workflow runs that ended."},
    {"store.retention.runs.keep_last", kInteger, kNone, AGENTD_SLOT(store.runs.keep_last),
     "10000", {0, 100 * kMillion}, "How many."},
    {"store.retention.runs.ttl", kDuration, kNone, AGENTD_SLOT(store.runs.ttl_ms),
     "30d", {1, 36'500 * kDay}, "How long."},
    {"store.retention.conversations", kSection, kNone, nullptr, "", {}, "Conversations that are idle."},
    {"store.retention.conversations.keep_last", kInteger, kNone, AGENTD_SLOT(store.conversations.keep_last),
     "1000", {0, 100 * kMillion}, "How many."},
    {"store.retention.conversations.ttl", kDuration, kNone, AGENTD_SLOT(store.conversations.ttl_ms),
     "30d", {1, 36'500 * kDay}, "How long."},
    {"store.retention.audit", kSection, kNone, nullptr, "", {}, "Who did what: the audit trail."},
    {"store.retention.audit.keep_last", kInteger, kNone, AGENTD_SLOT(store.audit.keep_last),
     "100000", {0, 100 * kMillion}, "How many records."},
    {"store.retention.audit.ttl", kDuration, kNone, AGENTD_SLOT(store.audit.ttl_ms),
     "90d", {1, 36'500 * kDay}, "How long."},

    {"workflows", kWorkflows, kNone, nullptr, "", {},
     "Workflows: inline, or {file: PATH}, or the path of a file or of a folder of *.yaml files."},

    {"log", kSection, kNone, nullptr, "", {}, "The log, on standard error."},
    {"log.level", kChoice, kNone, AGENTD_SLOT(log.level), "info", {},
     "What is below it is not written.", kLevels},
    {"log.format", kChoice, kNone, AGENTD_SLOT(log.format), "auto", {},
     "auto: text on a terminal, else JSON.", kFormats},
};

constexpr std::string_view kUnsupported[] = {"a2a.push"};
// clang-format on

#undef AGENTD_SLOT
#undef AGENTD_VARIABLES

// "a2a.principals[3].id" to "a2a.principals[].id".
std::string pattern_of(std::string_view path) {
  std::string out;
  bool index = false;
  for (const char c : path) {
    if (c == ']') index = false;
    if (!index) out += c;
    if (c == '[') index = true;
  }
  return out;
}

// "id, match, role"
std::string member_names(const Row& section) {
  std::vector<std::string_view> names;
  for (const Row* member : members_of(section)) names.push_back(name_of(*member));
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

std::string in_largest(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return fmt::format("{}{}", value, units.back().name);
}

}  // namespace

std::span<const Row> table() { return kRows; }

const Row* find_row(std::string_view path) {
  const auto found = std::ranges::find(kRows, pattern_of(path), &Row::path);
  return found == std::end(kRows) ? nullptr : found;
}

const Row& item_of(const Row& list) {
  const Row* item = find_row(std::string(list.path) + "[]");
  AGENTD_CHECK(item != nullptr, "the items of a list have a row");
  return *item;
}

std::vector<const Row*> members_of(const Row& section) {
  std::vector<const Row*> out;
  for (const Row& row : kRows) {
    if (!row.path.empty() && !row.path.ends_with(']') && row.path == join_path(section.path, name_of(row))) {
      out.push_back(&row);
    }
  }
  return out;
}

std::string_view name_of(const Row& row) { return row.path.substr(row.path.rfind('.') + 1); }

std::string join_path(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
}

bool is_unsupported(std::string_view path) {
  return std::ranges::find(kUnsupported, pattern_of(path)) != std::end(kUnsupported);
}

std::string variable_of(const Row& row) {
  constexpr std::array kLists = {kItems, kNamed, kEndpoints, kList, kPaths};
  const bool is_list = std::ranges::find(kLists, row.type) != kLists.end();
  if (row.slot == nullptr || is_list || row.path.contains('[')) return "";
  std::string out = "AGENTD_";
  for (const char c : row.path) {
    out += c == '.' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::string expected_of(const Row& row) {
  switch (row.type) {
    case kSection:
      return fmt::format("a mapping with {} {}", row.bounds.high == 1 ? "one of" : "members of", member_names(row));
    case kItems: return fmt::format("a list of {{{}}}", member_names(item_of(row)));
    case kNamed: return fmt::format("a mapping of names to {{{}}}", member_names(item_of(row)));
    case kName: return fmt::format("{} to {} of a-z, 0-9, _ and -", row.bounds.low, row.bounds.high);
    case kBase:
    case kEndpoint: return "a URL such as https://api.example/v1";
    case kWeb: return "a URL such as https://tools.example/mcp";
    case kEndpoints:
      return fmt::format("a list of {} to {} URLs, or of {{{}}}", row.bounds.low, row.bounds.high,
                         member_names(item_of(row)));
    case kVariables: return "a mapping of names to texts, {env: NAME} or {file: PATH}";
    case kHeaders: return "a mapping of names to texts of one line, {env: NAME} or {file: PATH}";
    case kWorkflows: return "a list of workflows, of {file: PATH}, or of paths of files and folders";
    case kProgram:
    case kString: return fmt::format("a text of {} to {} bytes", row.bounds.low, row.bounds.high);
    case kText: return "a text, or {file: PATH}";
    case kPath: return "a path";
    case kPaths: return fmt::format("a list of {} to {} paths", row.bounds.low, row.bounds.high);
    case kUrl: return "an origin such as https://agent.example";
    case kListen: return "http://127.0.0.1:PORT, https://ADDRESS:PORT or unix:///PATH, or a list of them";
    case kOrigins: return "an origin such as https://ui.example, or a list of them";
    case kArguments:
    case kList:
      return row.choices.empty() ? fmt::format("a list of {} to {} texts", row.bounds.low, row.bounds.high)
                                 : fmt::format("a list of {}", fmt::join(row.choices, ", "));
    case kChoice: return fmt::format("one of {}", fmt::join(row.choices, ", "));
    case kBoolean: return "true or false";
    case kTrue: return "true, or no such key";
    case kInteger: return fmt::format("an integer from {} to {}", row.bounds.low, row.bounds.high);
    case kNumber: return fmt::format("a number from {} to {}", row.bounds.low, row.bounds.high);
    case kSize:
      return fmt::format("a size such as 64MiB, from {} to {}", size_text(row.bounds.low), size_text(row.bounds.high));
    case kDuration:
      return fmt::format("a duration such as 30s, from {} to {}", duration_text(row.bounds.low),
                         duration_text(row.bounds.high));
    case kRate:
      return fmt::format("a rate such as 20/10s: {} to {} requests, in {} to {}", row.bounds.low, row.bounds.high,
                         duration_text(kLeastRateMs), duration_text(kMostRateMs));
    case kSecret: return "{env: NAME} or {file: PATH}";
  }
  return "";
}

std::string duration_text(std::uint64_t milliseconds) {
  constexpr std::array kUnits = {Unit{"d", kDay}, Unit{"h", 3600 * kSecond}, Unit{"m", 60 * kSecond},
                                 Unit{"s", kSecond}, Unit{"ms", 1}};
  return in_largest(milliseconds, kUnits);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array kUnits = {Unit{"GiB", kGiB}, Unit{"MiB", kKiB * kKiB}, Unit{"KiB", kKiB}, Unit{"", 1}};
  return in_largest(bytes, kUnits);
}

std::string rate_text(Rate rate) {
  return fmt::format("{}/{}", rate.burst, duration_text(static_cast<std::uint64_t>(rate.per_ms)));
}

}  // namespace agentd::config
