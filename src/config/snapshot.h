// Snapshot: the configuration as the daemon uses it, immutable, every default filled in (config.md).
//
// The table in config/table.cc is the one list of keys: types, ranges, defaults, texts; checks, the JSON
// Schema and the effective document come from it. A file is read in this order: parse, put in ${VARIABLE}s,
// lay AGENTD_… variables over it, check against the table, follow references (secrets, texts, workflows),
// check what holds between keys. Relative paths, wherever they come from, start at the file's folder, or at
// the current one when there is no file.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/rate.h"
#include "config/agent.h"
#include "config/secret.h"

namespace agentd::config {

struct Retention {
  std::uint64_t keep_last = 0;
  std::int64_t ttl_ms = 0;
};

enum class Role : std::uint8_t { kOperator, kUser, kAgent };

struct PrincipalRule {
  std::string id;  // "" for an `any` rule without one
  Role role = Role::kUser;
  std::optional<Secret> bearer;  // match.bearer_ref
  std::string san, sub;          // match.san, match.sub: of a client certificate
  bool any = false;              // match.any
  std::vector<std::string> grants = {};
  std::optional<Rate> rate;  // of requests; operators are exempt

  bool operator==(const PrincipalRule&) const = default;
};

struct DeviceGrant {
  bool enabled = false;
  std::vector<std::string> scopes = {"user"};
  std::int64_t token_ttl_ms = 8LL * 3'600'000;
  std::int64_t code_ttl_ms = 600'000;
};

struct Snapshot {
  std::string file;                // "" when embedded defaults run
  std::vector<std::string> files;  // that it was read from, and folders of them: all that a change may be made in

  struct {
    std::string name = "agentd";
    std::string description = "A self-hosted agent that lets you watch all of it.";
    std::string instructions;
    Model model;
    Approval approval = Approval::kAsk;
    Nobody nobody = Nobody::kWait;
    std::int64_t ask_timeout_ms = 3'600'000;  // of a question to a person; 0 = none
    Budget budget;
    std::vector<Price> prices;
    std::uint64_t max_subagent_depth = 3;  // 0 = none may be started
    std::uint64_t max_subagents = 16;      // at once
    std::uint64_t max_parallel_tools = 4;  // of one round
    std::vector<std::string> files;        // paths of what is read into the instructions
    std::vector<std::string> guidance;     // what stands in them
    std::vector<std::string> skills;       // paths of folders with one folder for each skill
  } agent;

  struct {
    std::vector<std::string> listen = {"http://127.0.0.1:8420"};
    std::string url;  // "" = the first listener's
    struct {
      std::string cert, key, client_ca;  // paths; "" = none
    } tls;
    bool insecure = false;  // http:// may be listened on off loopback
    std::optional<Secret> bearer;
    std::vector<PrincipalRule> principals;
    std::vector<std::string> cors_origins;  // as a browser sends them
    struct {
      bool enabled = true;
      std::uint64_t ring = 1024;
      std::uint64_t ring_bytes = 64U << 20U;
      std::int64_t deadline_ms = 600'000;
      std::int64_t write_timeout_ms = 30'000;
      std::uint64_t max_streams = 10'000;
      std::uint64_t max_streams_per_principal = 64;
    } events;
    bool introspection = false;
    DeviceGrant device_grant;
    bool sessions_persist = true;
    std::vector<Peer> peers;
  } a2a;

  struct {
    std::vector<McpServer> servers;
    std::vector<std::string> files;  // paths of mcpServers documents; what they say is among `servers`
  } mcp;

  // Bounds on each child process, with all below it; 0 = none.
  struct {
    std::uint64_t memory = 0, processes = 0;
    double cpu = 0;
  } children;

  struct {
    std::string kind = "sqlite";
    std::string path;  // folder; default: agentd/ in the XDG state folder
    Retention tasks{10'000, 30LL * 86'400'000};
    Retention runs{10'000, 30LL * 86'400'000};
    Retention conversations{1'000, 30LL * 86'400'000};
    Retention audit{100'000, 90LL * 86'400'000};
  } store;

  // One document each. An inline one has its marks in the main file, under paths from its own root
  // ("steps.count").
  std::vector<Document> workflows;

  struct {
    std::string level = "info";
    std::string format = "auto";
  } log;
};

using Environment = std::vector<std::pair<std::string, std::string>>;  // name, value

struct Source {
  std::string file;  // "" = embedded defaults
  Environment env;   // for ${VAR}, {env: …}, AGENTD_…, XDG_STATE_HOME and HOME
};

// Every fault, not the first only, in the order of the file; or the snapshot. No fault quotes a value.
[[nodiscard]] std::expected<Snapshot, std::vector<Fault>> load(const Source& source);

// What differs, as paths of the table in its order: "a2a.principals" for anything in that list. Of secrets, texts and workflows
// it is what they hold that counts.
[[nodiscard]] std::vector<std::string> changes(const Snapshot& before, const Snapshot& after);
// Whether only the next start can take up a change of it.
[[nodiscard]] bool needs_restart(const std::string& path);

// [{message, file, line, column, path, expected}]; what is unknown or empty is left out.
[[nodiscard]] Json faults_to_json(const std::vector<Fault>& faults);

// The values of all secrets in it.
[[nodiscard]] std::vector<std::string> secrets_of(const Snapshot& snapshot);

// The document that would make this snapshot: every key with its value, secrets as "***", workflows of files
// as {file: PATH}. Tool servers are all there, those of mcp.files too.
[[nodiscard]] Json effective(const Snapshot& snapshot);

// JSON Schema (draft 2020-12) of a configuration file, from the table.
[[nodiscard]] Json config_schema();

}  // namespace agentd::config
