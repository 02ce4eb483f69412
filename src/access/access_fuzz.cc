// Who a request comes from, by its head: the lines are its Authorization, its Origin and its Host; an empty one is a
// header that is not there. Who gets in is told again here, in other words, and both must agree.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"
#include "base/check.h"
#include "base/glob.h"

namespace {

using agentd::access::Access;
using agentd::access::Presented;

constexpr std::string_view kOrigin = "https://ui.example:8443";

agentd::config::Snapshot configured() {
  agentd::config::Snapshot config;
  config.a2a.url = "https://Agent.example/x";
  config.a2a.cors_origins = {std::string(kOrigin)};
  config.a2a.bearer = agentd::config::Secret{.value = "top", .source = "env T"};
  config.a2a.principals.push_back({.id = "alice", .bearer = agentd::config::Secret{.value = "to", .source = "env A"}});
  return config;
}

std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.empty()) return {};
  return line;
}

bool begins_with(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() && std::ranges::equal(text.substr(0, lower_case.size()), lower_case, {},
                                                                [](unsigned char c) { return std::tolower(c); });
}

bool is_ours(std::string_view host) {
  constexpr std::array<std::string_view, 4> kNames = {"localhost", "127.0.0.1", "[::1]", "agent.example"};
  return std::ranges::any_of(kNames, [host](std::string_view name) {
    return begins_with(host, name) && (host.size() == name.size() || host[name.size()] == ':');
  });
}

// What stands behind "Bearer" and between blanks, if it is that.
std::optional<std::string_view> token_of(std::string_view authorization) {
  if (!begins_with(authorization, "bearer")) return {};
  authorization.remove_prefix(6);
  if (!authorization.empty() && authorization[0] != ' ' && authorization[0] != '\t') return {};
  const std::size_t first = authorization.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return authorization.substr(first, authorization.find_last_not_of(" \t") + 1 - first);
}

// A glob as it is explained and not as it is fast.
bool matches(std::string_view glob, std::string_view text) {
  std::vector<bool> row(text.size() + 1);  // whether the glob so far matches the first n characters
  row[0] = true;
  for (const char c : glob) {
    for (std::size_t n = text.size() + 1; n-- > 0;)
      row[n] = c == '*' ? row[n] : n > 0 && row[n - 1] && text[n - 1] == c;
    for (std::size_t n = 1; c == '*' && n <= text.size(); ++n) row[n] = row[n] || row[n - 1];
  }
  return row.back();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Presented head;
  head.authorization = next_line(rest);
  head.origin = next_line(rest);
  head.host = next_line(rest);
  head.loopback = true;

  static const agentd::ManualClock clock;
  static const agentd::access::Sessions sessions;  // none: a token that looks like one of theirs is nobody's
  static const Access access(configured(), sessions, clock);
  const bool comes_in = (!head.origin || *head.origin == kOrigin) && (!head.host || is_ours(*head.host));
  AGENTD_CHECK(access.from_here(head) == comes_in, "a listed origin and a known host come in, and no others");

  const auto caller = access.identify(head);
  const auto token = head.authorization ? token_of(*head.authorization) : std::nullopt;
  if (token == "top" || token == "to") {
    AGENTD_CHECK(caller && caller->viewer.principal == (token == "top" ? "operator" : "user:alice"),
                 "a token names its principal");
  } else {
    AGENTD_CHECK(!caller, "nobody else is let in where a credential is configured");
    AGENTD_CHECK(caller.error().metadata.empty() != token.has_value(), "a wrong token is told from none");
  }

  AGENTD_CHECK(agentd::matches_glob(head.origin.value_or(""), head.host.value_or("")) ==
                   matches(head.origin.value_or(""), head.host.value_or("")),
               "a glob matches what its letters and stars say");

  static const Access open(agentd::config::Snapshot{}, sessions, clock);
  const bool of_session = token && token->starts_with(agentd::access::kTokenPrefix);
  AGENTD_CHECK(open.identify(head).has_value() == (!head.origin && !of_session),
               "without credentials a program of this machine is the operator, and a page is nobody");
  return 0;
}
