#include "a2a/extensions.h"

#include <fmt/format.h>

#include <set>

namespace agentd::a2a {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view uri(Extension extension) {
  constexpr std::array<std::string_view, 3> kUris = {
      "https://agentd.dev/a2a/ext/command",
      "https://agentd.dev/a2a/ext/events",
      "https://agentd.dev/a2a/ext/task-annotations",
  };
  return kUris[static_cast<std::size_t>(extension)];
}

std::string_view name(Extension extension) {
  const std::string_view whole = uri(extension);
  return whole.substr(whole.rfind('/') + 1);
}

Extensions activated(std::string_view header, const Extensions& declared) {
  Extensions out;
  std::set<std::string_view> seen;
  while (!header.empty() && seen.size() < kMaxTokens) {
    const std::size_t comma = header.find(',');
    const std::string_view token = trim(header.substr(0, comma));
    header = comma == std::string_view::npos ? std::string_view{} : header.substr(comma + 1);
    if (token.empty() || !seen.insert(token).second || token.size() > kMaxTokenBytes) continue;
    for (const Extension extension : kExtensions) {
      if (token == uri(extension) && declared.has(extension)) out.add(extension);
    }
  }
  return out;
}

std::string echo(const Extensions& activated) {
  std::string out;
  for (const Extension extension : kExtensions) {
    if (!activated.has(extension)) continue;
    if (!out.empty()) out += ", ";
    out += uri(extension);
  }
  return out;
}

Status check_required(const Extensions& required, const Extensions& active) {
  Extensions missing;
  for (const Extension extension : kExtensions) {
    if (required.has(extension) && !active.has(extension)) missing.add(extension);
  }
  if (missing.empty()) return {};
  const std::string names = echo(missing);
  return std::unexpected(Error{
      .code = Code::kExtensionSupportRequired,
      .message = fmt::format("this agent requires what the request does not name; add to 'A2A-Extensions: {}'", names),
      .metadata = {{"extensions", names}}});
}

}  // namespace agentd::a2a
