#include "cli/render_access.h"

#include <algorithm>
#include <vector>

#include "cli/fields.h"
#include "cli/printable.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kWidest = 64;

using Row = std::vector<std::string>;

// The rows in columns, each as wide as its widest cell. All rows have the cells of the first.
std::string table(std::vector<Row> rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = brief(row[i], kWidest);
      widths[i] = std::max(widths[i], characters(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) out += padded(row[i], widths[i]) + "  ";
    out += row.back() + "\n";
  }
  return out;
}

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
  std::vector<Row> rows = {{"CODE", "CLIENT", "SCOPE", "FROM", "EXPIRES"}};
  for (const auto& one : pending) {
    rows.push_back({text_of(one, "user_code"), text_of(one, "client_id"), text_of(one, "scope"), text_of(one, "peer"),
                    until(one, "expires_at", now_ms)});
  }
  return table(std::move(rows));
}

std::string render_sessions(const Json& sessions, std::int64_t now_ms) {
  if (sessions.empty()) return "no sessions\n";
  std::vector<Row> rows = {{"SID", "NAME", "ROLE", "KIND", "CLIENT", "SINCE", "EXPIRES"}};
  for (const auto& one : sessions) {
    const std::string name = text_of(one, "name");
    rows.push_back({text_of(one, "sid"), name.empty() ? text_of(one, "principal") : name, text_of(one, "role"),
                    text_of(one, "kind"), text_of(one, "client_id"), since(one, "created_at", now_ms),
                    until(one, "expires_at", now_ms)});
  }
  return table(std::move(rows));
}

}  // namespace agentd::cli
