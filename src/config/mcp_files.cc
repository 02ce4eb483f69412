#include "config/mcp_files.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/log.h"
#include "config/agent_rules.h"
#include "config/environment.h"
#include "config/reader.h"
#include "config/table.h"

namespace agentd::config {
namespace {

constexpr const char* kServers = "mcpServers";

// A server for other programs only.
bool is_left_out(const std::string& name, const Json& server) {
  if (server.value("disabled", Json()) == true) return true;
  if (server.value("type", Json()) != "sse") return false;
  log::warn(
      "an MCP server is left out: it is reached by HTTP+SSE, which Streamable HTTP (\"type\": \"http\") has replaced",
      {{"server", name}});
  return true;
}

// The servers that are not left out, with the keys that are ours too.
Json known_part(const Json& servers) {
  if (!servers.is_object()) return servers;
  const Row* row = find_row("mcp.servers");
  Json out = Json::object();
  for (const auto& [name, server] : servers.items()) {
    if (!server.is_object()) {
      out[name] = server;
    } else if (!is_left_out(name, server)) {
      out[name] = Json::object();
      for (const Row* member : members_of(item_of(*row))) {
        const std::string key(name_of(*member));
        if (server.contains(key)) out[name][key] = server[key];
      }
    }
  }
  return out;
}

void read_file(Document document, const Environment& env, Snapshot& snapshot, Report& all) {
  Report report(document);
  put_in_variables(document, env, report);
  Snapshot own;
  if (document.value.is_object() && document.value.contains(kServers)) {
    document.value[kServers] = known_part(document.value[kServers]);
    Reader(document, env, own, report).read_servers(document.value[kServers], kServers);
    check_servers(document, own.mcp.servers, kServers, report);
  } else {
    report.add("", "misses mcpServers", "{\"mcpServers\": {NAME: {command, args, env} or {url, headers}}}");
  }
  for (McpServer& server : own.mcp.servers) {
    if (std::ranges::find(snapshot.mcp.servers, server.name, &McpServer::name) != snapshot.mcp.servers.end()) {
      report.add("mcpServers." + server.name, "is the name of another server, in mcp.servers or in another file");
    } else {
      snapshot.mcp.servers.push_back(std::move(server));
    }
  }
  std::ranges::move(own.files, std::back_inserter(snapshot.files));
  all.take(std::move(report).in_order());
}

}  // namespace

void read_mcp_files(const Environment& env, Snapshot& snapshot, Report& report) {
  for (const std::string& file : snapshot.mcp.files) {
    snapshot.files.push_back(file);
    auto document = read_document(file);
    if (document) {
      read_file(*std::move(document), env, snapshot, report);
    } else {
      report.take(std::move(document.error()));
    }
  }
}

}  // namespace agentd::config
