#include "cli/render_access.h"

#include "cli/fields.h"
#include "cli/render.h"
#include "cli/table.h"

namespace agentd::cli {
namespace {

std::int64_t time_of(const Json& value, const char* key) { return static_cast<std::int64_t>(count_of(value, key)); }

std::string since(const Json& value, const char* key, std::int64_t now_ms) {
  return age_text(now_ms - time_of(value, key));
}

std::string until(const Json& value, const char* key, std::int64_t now_ms) {
  const std::int64_t left = time_of(value, key) - now_ms;
  return left > 0 ? "in " + age_text(left) : "now";
}

}  // namespace

std::string render_devices(const Json& pending, std::int64_t now_ms) {
  if (pending.empty()) return "no sign-in waits\n";
  Table table({"CODE", "CLIENT", "SCOPE", "FROM", "EXPIRES"});
  for (const auto& one : pending) {
    table.add({text_of(one, "user_code"), text_of(one, "client_id"), text_of(one, "scope"), text_of(one, "peer"),
               until(one, "expires_at", now_ms)});
  }
  return table.text({});
}

std::string render_sessions(const Json& sessions, std::int64_t now_ms) {
  if (sessions.empty()) return "no sessions\n";
  Table table({"SID", "NAME", "ROLE", "KIND", "CLIENT", "SINCE", "EXPIRES"});
  for (const auto& one : sessions) {
    const std::string name = text_of(one, "name");
    table.add({text_of(one, "sid"), name.empty() ? text_of(one, "principal") : name, text_of(one, "role"),
               text_of(one, "kind"), text_of(one, "client_id"), since(one, "created_at", now_ms),
               until(one, "expires_at", now_ms)});
  }
  return table.text({});
}

}  // namespace agentd::cli
