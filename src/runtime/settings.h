// Settings: the configuration that holds now, as the ops see it, and the settings that an operator moves while the daemon
// runs (`admin.set`, command.md section 3). Each move is pushed on the feed (`config`). Confined to the core thread.
#pragma once

#include <string>
#include <vector>

#include "base/redact.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "runtime/audit.h"

namespace agentd::runtime {

class Settings final {
 public:
  Settings(config::Snapshot config, feed::Feed& feed)
      : now_(std::move(config)), redactor_(config::secrets_of(now_)), feed_(feed) {}

  [[nodiscard]] const config::Snapshot& now() const { return now_; }
  // Of its secrets, for what comes from outside.
  [[nodiscard]] const Redactor& redactor() const { return redactor_; }

  // What was read again, and where it differs. What an operator had set is as it was read.
  void reload(config::Snapshot config, const std::vector<std::string>& paths);
  // Holds until the next reload. Setting what is set already moves nothing. Errors: kInvalidParams with the argument at fault,
  // below `field`.
  [[nodiscard]] Result<Done> set(const Json& args, const std::string& field);

 private:
  void take(config::Snapshot config, const std::vector<std::string>& paths, const char* source);

  config::Snapshot now_;
  Redactor redactor_;
  feed::Feed& feed_;
};

}  // namespace agentd::runtime
