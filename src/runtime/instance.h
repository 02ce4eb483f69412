// Instance: the slim view of the daemon as a whole (`status` on the feed), its counters, and whether it is draining or paused.
//
// A change is pushed at once, then at most four times a second; the last state is always sent. A pause outlasts the daemon.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "feed/feed.h"
#include "net/loop.h"
#include "runtime/journal.h"

namespace agentd::runtime {

struct Counters {
  std::uint64_t turns = 0, tool_calls = 0, runs_started = 0, runs_finished = 0, tokens_in = 0, tokens_out = 0;
};

class Instance final {
 public:
  Instance(net::Loop& loop, feed::Feed& feed, Journal& journal, const Clock& clock, std::string name,
           std::string model);

  [[nodiscard]] Status load();  // pushes nothing

  // Changes counters through `change` and pushes what came of it.
  template <class Change>
  void count(Change change) {
    change(counters_);
    changed();
  }
  void rename(std::string name, std::string model);
  // Draining begins once; later calls do nothing.
  void drain(const std::string& reason);
  // Whether new steps and rounds are held back, until it is called off, in this life or a later one. False when that changes
  // nothing.
  bool pause(const std::string& reason);
  bool unpause();
  void changed();
  // What its owners keep of the daemon as a whole, by name: there in the next life. Null for what was never kept.
  void keep(const std::string& name, Json value);
  [[nodiscard]] Json kept(const std::string& name) const { return kept_.value(name, Json()); }
  // Asked for whenever the view is put together.
  void on_budget(std::function<Json()> budget) { budget_ = std::move(budget); }

  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::int64_t uptime_ms() const { return clock_.mono_ms() - started_ms_; }
  [[nodiscard]] feed::Status payload() const;

 private:
  void push();

  feed::Feed& feed_;
  Journal& journal_;
  const Clock& clock_;
  std::string name_, model_;
  const std::int64_t started_ms_;
  Counters counters_;
  Json kept_ = Json::object();
  std::function<Json()> budget_ = [] { return Json::object(); };
  bool draining_ = false;
  bool paused_ = false;
  std::int64_t pushed_ms_;
  net::Timer later_;
};

}  // namespace agentd::runtime
