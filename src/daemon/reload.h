// Reload: reads again what a person wrote, when a file of it changed or when asked, and takes it up as a whole or not at all
// (config.md): a fault, or a change that only a start can take up, leaves everything as it was, and the log says why.
//
//   saved, SIGHUP --> request() --> load_setup() on a thread of its own --> what differs --> adopt()
//
// Confined to the core thread, which never waits for a file. What comes while it reads is read after it, once.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/setup.h"
#include "net/file_watch.h"
#include "net/loop.h"
#include "runtime/audit.h"
#include "runtime/settings.h"

namespace agentd::daemon {

class Reload final {
 public:
  // Called with what was read and the paths that differ, at least one.
  using Adopt = std::function<void(Setup setup, const std::vector<std::string>& paths)>;

  // The references outlive this, as does the loop, which has stopped when this ends.
  Reload(net::Loop& core, const Setup& setup, const runtime::Settings& settings, runtime::Audit& audit, Adopt adopt);
  ~Reload();

  void start();  // watches the files
  void request();

 private:
  using Loaded = std::expected<Setup, std::vector<Fault>>;

  void finish(Loaded loaded);
  void refuse(const std::vector<Fault>& faults);

  net::Loop& core_;
  const runtime::Settings& settings_;
  runtime::Audit& audit_;
  const Adopt adopt_;
  llm::ScriptedModel model_;  // as it is in use
  std::vector<runtime::Skill> skills_;
  std::vector<std::string> files_;  // of the last configuration that was good
  net::FileWatch watch_;
  std::thread reading_;
  bool again_ = false;
};

}  // namespace agentd::daemon
