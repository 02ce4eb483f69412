// secrets_of(): every secret that a configuration refers to.
#include "config/snapshot.h"

namespace agentd::config {

std::vector<std::string> secrets_of(const Snapshot& snapshot) {
  std::vector<std::string> out;
  const auto add = [&out](const std::optional<Secret>& secret) {
    if (secret) out.push_back(secret->value);
  };
  add(snapshot.a2a.bearer);
  for (const PrincipalRule& rule : snapshot.a2a.principals) add(rule.bearer);
  for (const Peer& peer : snapshot.a2a.peers) add(peer.bearer);
  add(snapshot.agent.model.api_key);
  for (const Endpoint& endpoint : snapshot.agent.model.endpoints) add(endpoint.api_key);
  for (const McpServer& server : snapshot.mcp.servers) {
    for (const auto& [name, secret] : server.secret_env) out.push_back(secret.value);
    for (const auto& [name, secret] : server.secret_headers) out.push_back(secret.value);
    add(server.oauth.client_secret);
    add(server.oauth.private_key);
  }
  return out;
}

}  // namespace agentd::config
