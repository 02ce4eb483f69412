#include "mcp/oauth_text.h"

#include <algorithm>
#include <cctype>

#include "base/digest.h"
#include "http/target.h"

namespace agentd::mcp {
namespace {

constexpr std::string_view kResource = "/.well-known/oauth-protected-resource";
constexpr std::string_view kIssuer = "/.well-known/oauth-authorization-server";
constexpr std::string_view kOpenId = "/.well-known/openid-configuration";

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_token_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

// Reads `name=value` or `name="value"` after another, and the names of schemes, which have no value.
class Parameters {
 public:
  explicit Parameters(std::string_view text) : rest_(text) {}

  // False at the end. `is_scheme`: a word without a value.
  bool next(std::string& name, std::string& value, bool& is_scheme) {
    skip(", \t");
    name = lower(take_token());
    if (name.empty()) return false;
    skip(" \t");
    is_scheme = !rest_.starts_with('=');
    value.clear();
    if (is_scheme) return true;
    rest_.remove_prefix(1);
    skip(" \t");
    value = rest_.starts_with('"') ? take_quoted() : std::string(take_token());
    return true;
  }

 private:
  void skip(std::string_view any) { rest_.remove_prefix(std::min(rest_.find_first_not_of(any), rest_.size())); }
  std::string_view take_token() {
    const auto end = std::ranges::find_if_not(rest_, is_token_char);
    const std::string_view token = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(token.size());
    return token;
  }
  std::string take_quoted() {
    rest_.remove_prefix(1);
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      out += rest_.front();
      rest_.remove_prefix(1);
    }
    if (!rest_.empty()) rest_.remove_prefix(1);
    return out;
  }

  std::string_view rest_;
};

// Of RFC 8414 and RFC 9728: the well-known part comes before the path.
std::string well_known(std::string_view url, std::string_view kind) {
  std::string path = path_of(url);
  while (path.ends_with('/')) path.pop_back();
  return origin_of(url) + std::string(kind) + path;
}

std::string url_safe(std::string base64) {
  std::ranges::replace(base64, '+', '-');
  std::ranges::replace(base64, '/', '_');
  base64.erase(base64.find_last_not_of('=') + 1);
  return base64;
}

void add(std::vector<std::string>& urls, std::string url) {
  if (std::ranges::find(urls, url) == urls.end()) urls.push_back(std::move(url));
}

}  // namespace

Challenge read_challenge(std::string_view header) {
  Challenge out;
  Parameters parameters(header);
  std::string name, value;
  bool is_scheme = false, is_bearer = false;
  while (parameters.next(name, value, is_scheme)) {
    if (is_scheme) {
      is_bearer = name == "bearer";
    } else if (is_bearer) {
      if (name == "resource_metadata") out.resource_metadata = value;
      if (name == "scope") out.scope = value;
      if (name == "error") out.error = value;
    }
  }
  return out;
}

std::string origin_of(std::string_view url) {
  const std::size_t host = url.find("://");
  if (host == std::string_view::npos) return "";
  return lower(url.substr(0, url.find_first_of("/?#", host + 3)));
}

std::string host_of(std::string_view url) {
  std::string origin = origin_of(url);
  origin.erase(0, std::min(origin.find("://") + 3, origin.size()));
  if (const std::size_t port = origin.rfind(':'); port != std::string::npos && !origin.ends_with(']'))
    origin.resize(port);
  return origin;
}

std::string path_of(std::string_view url) {
  url.remove_prefix(std::min(origin_of(url).size(), url.size()));
  return std::string(url.substr(0, url.find_first_of("?#")));
}

std::vector<std::string> resource_metadata_urls(const std::string& server) {
  std::vector<std::string> out;
  add(out, well_known(server, kResource));
  add(out, origin_of(server) + std::string(kResource));
  return out;
}

std::vector<std::string> issuer_metadata_urls(const std::string& issuer) {
  std::vector<std::string> out;
  add(out, well_known(issuer, kIssuer));
  add(out, well_known(issuer, kOpenId));
  std::string path = path_of(issuer);
  while (path.ends_with('/')) path.pop_back();
  add(out, origin_of(issuer) + path + std::string(kOpenId));
  return out;
}

bool covers(const std::string& resource, const std::string& url) {
  if (origin_of(resource).empty() || origin_of(resource) != origin_of(url)) return false;
  const auto closed = [](std::string path) { return path.ends_with('/') ? path : path + "/"; };
  return closed(path_of(url)).starts_with(closed(path_of(resource)));
}

std::string to_base64url(std::string_view bytes) { return url_safe(to_base64(bytes)); }

std::string code_challenge(std::string_view verifier) { return url_safe(sha256_base64(verifier)); }

std::string basic_credentials(const std::string& id, const std::string& secret) {
  return "Basic " + to_base64(http::to_form_text(id) + ":" + http::to_form_text(secret));
}

}  // namespace agentd::mcp
