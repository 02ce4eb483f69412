// The A2A-Extensions header: the first byte says which extensions are declared, the rest is the header. What is activated
// is what events.md section 2 says, and is activated again by its echo.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "a2a/extensions.h"
#include "base/check.h"

namespace {

using agentd::a2a::Extensions;
using agentd::a2a::kExtensions;

// The tokens that count: trimmed, neither empty nor said before, and no more than are looked at.
std::vector<std::string> tokens(std::string_view header) {
  std::vector<std::string> out;
  std::string token;
  for (const char c : std::string(header) + ',') {
    if (c != ',') {
      token += c;
      continue;
    }
    const std::size_t begin = std::min(token.find_first_not_of(" \t"), token.size());
    token = token.substr(begin, token.find_last_not_of(" \t") + 1 - begin);
    if (!token.empty() && std::ranges::find(out, token) == out.end()) out.push_back(token);
    token.clear();
  }
  out.resize(std::min(out.size(), agentd::a2a::kMaxTokens));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view header(reinterpret_cast<const char*>(data + 1), size - 1);
  Extensions declared;
  for (const auto extension : kExtensions) {
    if ((data[0] >> static_cast<unsigned>(extension)) % 2 == 1) declared.add(extension);
  }
  const Extensions activated = agentd::a2a::activated(header, declared);
  const std::vector<std::string> said = tokens(header);
  const std::string echo = agentd::a2a::echo(activated);
  const Extensions again = agentd::a2a::activated(echo, declared);
  for (const auto extension : kExtensions) {
    const bool named = std::ranges::find(said, agentd::a2a::uri(extension)) != said.end();
    AGENTD_CHECK(activated.has(extension) == (named && declared.has(extension)), "declared and named is activated");
    AGENTD_CHECK(again.has(extension) == activated.has(extension), "the echo names what was activated");
  }
  AGENTD_CHECK(echo.empty() == activated.empty(), "no echo of nothing");
  return 0;
}
