#include "daemon/reload.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace agentd::daemon {

Reload::Reload(net::Loop& core, const Setup& setup, const runtime::Settings& settings, runtime::Audit& audit,
               Adopt adopt)
    : core_(core),
      settings_(settings),
      audit_(audit),
      adopt_(std::move(adopt)),
      model_(setup.model),
      skills_(setup.skills),
      files_(setup.config.files),
      watch_(core, [this] { request(); }) {}

Reload::~Reload() {
  if (reading_.joinable()) reading_.join();
}

void Reload::start() { watch_.watch(files_); }

void Reload::request() {
  again_ = reading_.joinable();
  if (again_) return;
  reading_ = std::thread([this, file = settings_.now().file] {
    core_.post([this, loaded = load_setup(file)]() mutable { finish(std::move(loaded)); });
  });
}

void Reload::finish(Loaded loaded) {
  reading_.join();
  if (again_) return request();  // and this may be half of what was saved
  if (!loaded) {
    refuse(loaded.error());
  } else {
    auto paths = config::changes(settings_.now(), loaded->config);
    const auto add = [&paths](bool differs, const std::string& path) {
      if (differs && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    };
    add(!(loaded->model == model_), "agent.model.script");
    add(loaded->skills != skills_, "agent.skills");
    std::vector<Fault> fixed;
    for (const std::string& path : paths) {
      if (!config::needs_restart(path)) continue;
      fixed.push_back({.file = loaded->config.file,
                       .path = path,
                       .message = "changed, and only a start takes that up: restart the daemon, or put it back"});
    }
    files_ = loaded->config.files;
    if (!fixed.empty()) {
      refuse(fixed);
    } else if (paths.empty()) {
      log::info("configuration read again: nothing has changed");
    } else {
      model_ = loaded->model;
      skills_ = loaded->skills;
      adopt_(*std::move(loaded), paths);
      audit_.done(nullptr, "reload", {{"paths", paths}});
      log::info("configuration reloaded", {{"changed", paths}});
    }
  }
  watch_.watch(files_);  // links may lead elsewhere now
}

void Reload::refuse(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) log::error("configuration refused", {{"fault", to_string(fault)}});
  log::error("the configuration before it stays, whole", {{"faults", faults.size()}});
  audit_.refused(nullptr, "reload", nullptr, Code::kConfig);
}

}  // namespace agentd::daemon
