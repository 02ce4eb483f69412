// What a stranger's server says of where to sign in: a header, and URLs. Whatever it is, what is made of it keeps to its own host.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "mcp/oauth_text.h"

namespace {

void check_urls(const std::vector<std::string>& urls, const std::string& origin) {
  for (const std::string& url : urls) {
    AGENTD_CHECK(origin.empty() || agentd::mcp::origin_of(url) == origin, "metadata of another origin");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto challenge = agentd::mcp::read_challenge(text);
  AGENTD_CHECK(challenge.scope.size() + challenge.error.size() + challenge.resource_metadata.size() <= size,
               "a challenge says more than its header");
  const std::string origin = agentd::mcp::origin_of(text), path = agentd::mcp::path_of(text);
  AGENTD_CHECK(origin.size() + path.size() <= size, "a URL is longer than it is");
  AGENTD_CHECK(path.find_first_of("?#") == std::string::npos, "a path has a query");
  check_urls(agentd::mcp::resource_metadata_urls(text), origin);
  check_urls(agentd::mcp::issuer_metadata_urls(text), origin);
  AGENTD_CHECK(origin.empty() || agentd::mcp::covers(text, text), "a resource does not cover itself");
  return 0;
}
