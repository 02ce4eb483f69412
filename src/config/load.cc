// load(): the order in which a configuration is put together, and the rules that hold between keys.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/agent_rules.h"
#include "config/environment.h"
#include "config/files.h"
#include "config/mcp_files.h"
#include "config/origin.h"
#include "config/reader.h"
#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {
namespace {

bool has(const Json& object, std::string_view name) { return object.is_object() && object.contains(name); }

// access.md section 1: what a rule may say, and that no two rules are one principal. Looks at what was
// written, not at what was understood, so that a fault found before does not make another one here.
void check_principals(const Document& document, const Snapshot& snapshot, Report& report) {
  std::map<std::string, std::size_t> ids;
  for (std::size_t i = 0; i < snapshot.a2a.principals.size(); ++i) {
    const PrincipalRule& rule = snapshot.a2a.principals[i];
    const std::string path = fmt::format("a2a.principals[{}]", i);
    const Json& written = document.value["a2a"]["principals"][i];
    if (rule.any && has(written, "role") && rule.role == Role::kOperator) {
      report.add(path + ".role", "an `any` rule cannot grant operator: every caller would be one", "user or agent");
    }
    if (has(written, "match") && has(written["match"], "bearer_ref") && !has(written, "id")) {
      report.add(path, "a bearer_ref rule misses id: what it owns is kept under it");
    }
    if (std::ranges::count(rule.san, '*') > 1) {
      report.add(path + ".match.san", "has more than one *", "a name with one * at most");
    }
    if (rule.id.empty()) continue;
    const auto [first, is_new] = ids.emplace(rule.id, i);
    if (!is_new) {
      const std::string other = fmt::format("a2a.principals[{}].id", first->second);
      report.add(path + ".id", fmt::format("is the id of another rule, on line {}", document.locate(other).line));
    }
  }
}

// Somebody has to approve a sign-in: the operator of a bearer token, or of a rule.
void check_device_grant(const Document& document, const Snapshot& snapshot, Report& report) {
  if (!snapshot.a2a.device_grant.enabled || has(document.value["a2a"], "bearer")) return;
  for (const PrincipalRule& rule : snapshot.a2a.principals) {
    if (rule.role == Role::kOperator) return;
  }
  report.add("a2a.device_grant.enabled", "is on, and there is no operator who could approve a sign-in",
             "a2a.bearer, or a rule of role operator in a2a.principals");
}

bool can_authenticate(const Snapshot& snapshot) {
  return snapshot.a2a.bearer || !snapshot.a2a.principals.empty() || snapshot.a2a.device_grant.enabled ||
         !snapshot.a2a.tls.client_ca.empty();
}

// access.md section 5: what is reached from elsewhere is TLS and knows its callers, or it was asked to be neither.
void check_listener(const Snapshot& snapshot, const std::string& address, const std::string& path, Report& report) {
  if (is_https(address) && snapshot.a2a.tls.cert.empty()) {
    report.add(path, "an https:// address needs a certificate: set a2a.tls.cert and a2a.tls.key");
  }
  if (is_local(address)) return;
  if (!is_https(address) && !snapshot.a2a.insecure) {
    report.add(path,
               "an http:// address that others can reach sends tokens in the clear: listen on https:// with "
               "a2a.tls.cert and a2a.tls.key, or set a2a.insecure: true");
  }
  if (is_https(address) && !can_authenticate(snapshot)) {
    report.add(path,
               "an address that others can reach needs to know its callers: set a2a.bearer, a2a.principals or "
               "a2a.tls.client_ca");
  }
}

void check_listeners(const Document& document, const Snapshot& snapshot, Report& report) {
  const auto& tls = snapshot.a2a.tls;
  if (tls.cert.empty() != tls.key.empty()) report.add("a2a.tls", tls.cert.empty() ? "misses cert" : "misses key");
  const Json* section = has(document.value, "a2a") ? &document.value["a2a"] : nullptr;
  const Json written = section != nullptr && has(*section, "listen") ? (*section)["listen"] : Json();
  if (!written.is_array()) {
    for (const std::string& address : snapshot.a2a.listen) check_listener(snapshot, address, "a2a.listen", report);
    return;
  }
  if (written.size() != snapshot.a2a.listen.size()) return;  // some were refused already
  for (std::size_t i = 0; i < written.size(); ++i) {
    check_listener(snapshot, snapshot.a2a.listen[i], fmt::format("a2a.listen[{}]", i), report);
  }
}

void default_store_path(const Environment& env, Snapshot& snapshot, Report& report) {
  if (!snapshot.store.path.empty() || snapshot.store.kind == "memory") return;
  const std::string* state = find_variable(env, "XDG_STATE_HOME");
  const std::string* home = find_variable(env, "HOME");
  // The XDG specification has a relative path ignored.
  if (state != nullptr && state->starts_with('/')) {
    snapshot.store.path = resolve_path(*state, "agentd");
  } else if (home != nullptr && home->starts_with('/')) {
    snapshot.store.path = resolve_path(*home, ".local/state/agentd");
  } else {
    report.add("store.path", "has no default, for neither XDG_STATE_HOME nor HOME is set", "a path");
  }
}

}  // namespace

std::expected<Snapshot, std::vector<Fault>> load(const Source& source) {
  std::expected<Document, std::vector<Fault>> document = Document{};
  if (!source.file.empty()) document = read_document(source.file);
  if (!document) return std::unexpected(std::move(document.error()));

  Report report(*document);
  apply_environment(*document, source.env, report);
  Snapshot snapshot;
  snapshot.file = source.file;
  if (!source.file.empty()) snapshot.files.push_back(resolve_path(folder_of(""), source.file));
  Reader(*document, source.env, snapshot, report).read();
  check_principals(*document, snapshot, report);
  check_device_grant(*document, snapshot, report);
  check_listeners(*document, snapshot, report);
  check_agent(*document, snapshot, report);
  read_agent_files(snapshot, report);
  read_mcp_files(source.env, snapshot, report);
  default_store_path(source.env, snapshot, report);
  if (!snapshot.agent.model.script.empty()) snapshot.files.push_back(snapshot.agent.model.script);
  if (!report.empty()) return std::unexpected(std::move(report).in_order());
  return snapshot;
}

Json faults_to_json(const std::vector<Fault>& faults) {
  Json out = Json::array();
  for (const Fault& fault : faults) {
    Json row = {{"message", fault.message}};
    if (!fault.file.empty()) row["file"] = fault.file;
    if (fault.line > 0) row["line"] = fault.line;
    if (fault.column > 0) row["column"] = fault.column;
    if (!fault.path.empty()) row["path"] = fault.path;
    if (!fault.expected.empty()) row["expected"] = fault.expected;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace agentd::config
