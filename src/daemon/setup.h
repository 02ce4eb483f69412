// Setup: everything that a person wrote for this daemon, read and checked as one: configuration, workflows, model script.
// `serve` and `check` share it, so what one accepts the other does. Values.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "llm/scripted.h"
#include "net/tls.h"
#include "runtime/skills.h"
#include "workflow/model.h"

namespace agentd::daemon {

struct Setup {
  config::Snapshot config;
  std::vector<std::shared_ptr<const workflow::Workflow>> workflows;
  llm::ScriptedModel model;  // rules, or built-in ones when another provider answers
  std::vector<runtime::Skill> skills;
};

// Whether it listens on an https:// address, and with what.
[[nodiscard]] bool has_https(const config::Snapshot& config);
[[nodiscard]] net::TlsFiles tls_files(const config::Snapshot& config);

// Every fault of every file, or the setup. `file` "" = embedded defaults; the environment is the process's.
[[nodiscard]] std::expected<Setup, std::vector<Fault>> load_setup(const std::string& file);

}  // namespace agentd::daemon
