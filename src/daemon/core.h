// Core: the one writer of state, put together: who owns what on the core thread, and how it starts and ends.
//
// Confined to the core thread once start() was called.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "command/commands.h"
#include "daemon/setup.h"
#include "feed/feed.h"
#include "http/client.h"
#include "net/loop.h"
#include "process/child.h"
#include "runtime/budgets.h"
#include "runtime/mcp_tools.h"
#include "runtime/peers.h"
#include "runtime/service.h"
#include "runtime/settings.h"
#include "runtime/sign_in.h"
#include "runtime/skills.h"
#include "runtime/subagents.h"
#include "runtime/tools.h"
#include "store/store.h"

namespace agentd::daemon {

class Core final {
 public:
  // `url`: the daemon's, without a slash at the end. `is_attended`: whether somebody who may answer for that principal follows the feed.
  Core(net::Loop& loop, const Setup& setup, store::Store& store, feed::Feed& feed, access::Sessions& sessions,
       const Clock& clock, const std::string& url, std::function<bool(const std::string& principal)> is_attended);

  // Reads what an earlier life left. Errors: kUnavailable.
  [[nodiscard]] Status load();
  // Goes on with it.
  void start();
  // Works by this from now on; what is at work goes on as it began.
  void adopt(Setup setup, const std::vector<std::string>& paths);
  // Called when it is drained, whoever asked for it.
  void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  // Takes no more work, and lets what is at work end for `patience_ms`. Calling it again ends the waiting, but the first call
  // after an operator's only shortens it.
  void drain(const std::string& reason, std::int64_t patience_ms);
  // Stops what is still at work, to be resumed by the next life, and writes the last rows.
  void stop();

  [[nodiscard]] runtime::Service& service() { return service_; }
  [[nodiscard]] command::Commands& commands() { return commands_; }
  [[nodiscard]] const runtime::Settings& settings() const { return settings_; }
  [[nodiscard]] runtime::SignIn& sign_in() { return sign_in_; }
  [[nodiscard]] runtime::McpTools& mcp() { return mcp_; }
  [[nodiscard]] runtime::Journal& journal() { return journal_; }
  [[nodiscard]] runtime::Audit& audit() { return audit_; }

 private:
  void drain_when_told(const std::string& reason);
  void wait_for_work();
  void tidy();
  [[nodiscard]] runtime::Mind mind_of(const Setup& setup);

  net::Loop& loop_;
  const Clock& clock_;
  runtime::Journal journal_;
  runtime::Audit audit_;
  runtime::Settings settings_;
  runtime::Instance instance_;
  runtime::Tasks tasks_;
  runtime::Conversations conversations_;
  process::Children processes_;
  runtime::ChildList children_;
  runtime::Runs runs_;
  http::Client client_;
  runtime::McpTools mcp_;
  runtime::Peers peers_;
  runtime::Skills skills_;
  runtime::Tools tools_;
  runtime::Budgets budgets_;
  runtime::Subagents subagents_;
  runtime::Turns turns_;
  runtime::Service service_;
  runtime::SignIn sign_in_;
  command::Commands commands_;
  net::Timer draining_;
  net::Timer tidying_;
  std::int64_t give_up_ms_ = 0;
  bool hurried_ = false;  // by a signal
  std::function<void()> drained_;
};

}  // namespace agentd::daemon
