#include "config/agent_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/files.h"
#include "config/table.h"

namespace agentd::config {
namespace {

constexpr std::size_t kFileBytes = 256U << 10U;

// Of the path of a key that is no item of a list.
Json::json_pointer pointer_of(std::string path) {
  std::ranges::replace(path, '.', '/');
  return Json::json_pointer("/" + path);
}

// What was written, not what was understood: a fault found before does not make another one here.
bool is_written(const Document& document, const std::string& path) { return document.value.contains(pointer_of(path)); }

// Keys that are there, and are of no use with the model's provider.
void check_stray(const Document& document, const std::vector<std::string>& names, const std::string& why,
                 const std::string& expected, Report& report) {
  for (const std::string& name : names) {
    if (is_written(document, "agent.model." + name)) report.add("agent.model." + name, why, expected);
  }
}

void check_model(const Document& document, const Snapshot& snapshot, Report& report) {
  const Model& model = snapshot.agent.model;
  const auto has = [&document](const std::string& name) { return is_written(document, "agent.model." + name); };
  if (has("endpoint") && has("endpoints")) {
    report.add("agent.model.endpoint", "is given beside endpoints", "one of the two");
  }
  if (model.provider == Provider::kScripted) {
    if (has("provider") && document.value["agent"]["model"]["provider"] != "scripted") return;  // refused already
    return check_stray(document, {"endpoint", "endpoints", "model", "api_key"}, "is of no use to the scripted model",
                       "agent.model.provider of openai or anthropic", report);
  }
  check_stray(document, {"script"}, "is for the scripted model alone", "no such key", report);
  if (!has("model")) report.add("agent.model", "misses model", "its name, as the provider has it");
  if (!has("api_key") && !has("endpoint") && !has("endpoints")) {
    report.add("agent.model", "misses api_key, which the provider's own endpoint asks for",
               "{env: NAME} or {file: PATH}");
  }
}

// No two items of the list at `path` have the same value of `member`.
template <class Item>
void check_twice(const Document& document, const std::vector<Item>& items, const std::string& path,
                 std::string Item::* member, const std::string& member_name, Report& report) {
  std::map<std::string, std::string> first;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string here = fmt::format("{}[{}].{}", path, i, member_name);
    if ((items[i].*member).empty()) continue;
    const auto [other, is_new] = first.emplace(items[i].*member, here);
    if (!is_new) {
      report.add(here, fmt::format("is that of another one, on line {}", document.locate(other->second).line));
    }
  }
}

// A budget in dollars counts nothing unless every model that may answer has its price. The scripted one costs none.
void check_budget(const Snapshot& snapshot, Report& report) {
  const auto& agent = snapshot.agent;
  if (agent.model.provider == Provider::kScripted) return;
  const auto check = [&](const std::string& model, const std::string& path) {
    const bool is_priced = std::ranges::any_of(
        agent.prices, [&](const Price& price) { return price.model == model || price.model.empty(); });
    if (model.empty() || is_priced) return;
    const std::string message = fmt::format("needs the price of {}, which is not among agent.prices", path);
    if (agent.budget.usd_per_turn > 0) report.add("agent.budget.usd_per_turn", message, "{model, input, output} there");
    if (agent.budget.usd_per_day > 0) report.add("agent.budget.usd_per_day", message, "{model, input, output} there");
  };
  check(agent.model.name, "agent.model.model");
  for (std::size_t i = 0; i < agent.model.endpoints.size(); ++i) {
    check(agent.model.endpoints[i].model, fmt::format("agent.model.endpoints[{}].model", i));
  }
}

}  // namespace

void read_agent_files(Snapshot& snapshot, Report& report) {
  auto& agent = snapshot.agent;
  for (std::size_t i = 0; i < agent.files.size(); ++i) {
    auto text = read_text(agent.files[i], kFileBytes);
    if (!text) report.add(fmt::format("agent.files[{}]", i), text.error().message);
    agent.guidance.push_back(text.value_or(""));
    snapshot.files.push_back(agent.files[i]);
  }
  for (std::size_t i = 0; i < agent.skills.size(); ++i) {
    std::error_code error;
    if (!std::filesystem::is_directory(agent.skills[i], error)) {
      report.add(fmt::format("agent.skills[{}]", i), "is not a folder", "a folder with a folder for each skill");
      continue;
    }
    snapshot.files.push_back(agent.skills[i]);
    for (const auto& entry : std::filesystem::directory_iterator(agent.skills[i], error)) {
      snapshot.files.push_back(entry.path() / "SKILL.md");
    }
  }
}

void check_servers(const Document& document, const std::vector<McpServer>& servers, const std::string& section,
                   Report& report) {
  for (const McpServer& server : servers) {
    const std::string path = join_path(section, server.name);
    const Json& written = document.value.at(pointer_of(path));
    if (!written.is_object() && !written.is_null()) continue;  // refused already
    const auto has = [&written](const char* key) { return written.is_object() && written.contains(key); };
    if (has("command") == has("url")) {
      report.add(path, has("url") ? "has both command and url" : "misses command, or url", "exactly one of the two");
      continue;
    }
    for (const char* key : {"args", "env", "cwd"}) {
      if (has("url") && has(key)) report.add(join_path(path, key), "is for a server with command", "no such key");
    }
    for (const char* key : {"headers", "oauth"}) {
      if (has("command") && has(key)) report.add(join_path(path, key), "is for a server with url", "no such key");
    }
    const McpOauth& oauth = server.oauth;
    const bool shows_itself = oauth.client_secret || oauth.private_key;
    if (!oauth.by_person() && (oauth.client_id.empty() || !shows_itself)) {
      report.add(join_path(path, "oauth"), "grant client_credentials needs more",
                 "client_id, and client_secret or private_key");
    }
    if (oauth.client_secret && oauth.private_key) {
      report.add(join_path(path, "oauth"), "has both client_secret and private_key", "one of the two");
    }
  }
}

void check_agent(const Document& document, const Snapshot& snapshot, Report& report) {
  check_model(document, snapshot, report);
  check_twice(document, snapshot.agent.prices, "agent.prices", &Price::model, "model", report);
  check_budget(snapshot, report);
  check_servers(document, snapshot.mcp.servers, "mcp.servers", report);
  check_twice(document, snapshot.a2a.peers, "a2a.peers", &Peer::name, "name", report);
}

}  // namespace agentd::config
