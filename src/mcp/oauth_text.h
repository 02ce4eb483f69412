// The texts of OAuth as a client of MCP servers reads and writes them (MCP authorization; RFC 6749, 6750, 7636, 8414, 9728). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agentd::mcp {

// What a refusal with 401 or 403 says of itself; "" = nothing.
struct Challenge {
  std::string resource_metadata, scope, error;
};
// Of the value of WWW-Authenticate, of which the scheme Bearer counts.
[[nodiscard]] Challenge read_challenge(std::string_view header);

// "https://host:port" of a URL, its host alone, and what comes after the origin, without query and fragment; "" = no such part.
[[nodiscard]] std::string origin_of(std::string_view url);
[[nodiscard]] std::string host_of(std::string_view url);
[[nodiscard]] std::string path_of(std::string_view url);

// Where the metadata of a protected resource, and of an authorization server, may be: in the order to ask in.
[[nodiscard]] std::vector<std::string> resource_metadata_urls(const std::string& server);
[[nodiscard]] std::vector<std::string> issuer_metadata_urls(const std::string& issuer);

// Whether a token for `resource` is one for what is at `url`: the same origin, and the same path or one below it.
[[nodiscard]] bool covers(const std::string& resource, const std::string& url);

// Without padding, fit for URLs (RFC 4648 section 5).
[[nodiscard]] std::string to_base64url(std::string_view bytes);
// The challenge of PKCE by S256.
[[nodiscard]] std::string code_challenge(std::string_view verifier);
// The value of Authorization: Basic, of a client that was given a secret.
[[nodiscard]] std::string basic_credentials(const std::string& id, const std::string& secret);

}  // namespace agentd::mcp
