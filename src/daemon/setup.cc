#include "daemon/setup.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/faults.h"
#include "command/ops.h"
#include "schema/validator.h"

namespace agentd::daemon {
namespace {

config::Environment environment() {
  config::Environment out;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) out.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

void append(std::vector<Fault>& to, std::vector<Fault> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void check_schema(Faults& found, const std::string& path, const Json& schema) {
  if (schema.is_null()) return;
  if (const auto compiled = schema::compile(schema); !compiled) found.add(path, compiled.error().message);
}

// What is each in one document only, and in which.
using Taken = std::map<std::string, const Document*>;

void take(Taken& taken, const std::string& name, const Document& document, const std::string& path, Faults& found) {
  const auto [at, fresh] = taken.emplace(name, &document);
  if (!fresh) found.add(path, "is that of another workflow too, in " + at->second->file);
}

std::vector<std::shared_ptr<const workflow::Workflow>> load_workflows(const std::vector<Document>& documents,
                                                                      std::vector<Fault>& faults) {
  std::vector<std::shared_ptr<const workflow::Workflow>> out;
  Taken names, ops;
  for (const Document& document : documents) {
    auto parsed = workflow::parse(document);
    if (!parsed) {
      append(faults, std::move(parsed.error()));
      continue;
    }
    Faults found(document);
    check_schema(found, "inputs", parsed->inputs);
    take(names, parsed->name, document, "name", found);
    if (const auto& command = parsed->command) {
      const std::string path = "start.a2a.command";
      if (command::find_op(command->op) != nullptr) found.add(path, "is an op of the daemon itself; take another name");
      take(ops, command->op, document, path, found);
      check_schema(found, "start.a2a.schema", command->schema);
    }
    append(faults, found.take());
    out.push_back(std::make_shared<const workflow::Workflow>(std::move(*parsed)));
  }
  return out;
}

}  // namespace

bool has_https(const config::Snapshot& config) {
  return std::ranges::any_of(config.a2a.listen, [](const std::string& url) { return url.starts_with("https:"); });
}

net::TlsFiles tls_files(const config::Snapshot& config) {
  return {.certificate = config.a2a.tls.cert, .key = config.a2a.tls.key, .client_ca = config.a2a.tls.client_ca};
}

std::expected<Setup, std::vector<Fault>> load_setup(const std::string& file) {
  auto config = config::load({.file = file, .env = environment()});
  if (!config) return std::unexpected(std::move(config.error()));
  std::vector<Fault> faults;
  auto workflows = load_workflows(config->workflows, faults);
  const std::string& script = config->agent.model.script;
  std::expected<llm::ScriptedModel, std::vector<Fault>> model = llm::ScriptedModel::built_in();
  if (!script.empty()) model = llm::ScriptedModel::load(script);
  if (!model) append(faults, std::move(model.error()));
  auto skills = runtime::load_skills(config->agent.skills);
  if (!skills) append(faults, std::move(skills.error()));
  if (has_https(*config)) {
    const SystemClock clock;
    if (const auto tls = net::TlsContext::load(tls_files(*config), clock); !tls) {
      faults.push_back({.file = file, .path = "a2a.tls", .message = tls.error().message});
    }
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return Setup{.config = std::move(*config),
               .workflows = std::move(workflows),
               .model = std::move(*model),
               .skills = *std::move(skills)};
}

}  // namespace agentd::daemon
