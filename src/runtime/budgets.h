// Budgets: what the models have used and cost on this day (UTC), and whether a turn may go on (`agent.budget`). A day's use outlasts the daemon.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "llm/model.h"
#include "runtime/instance.h"
#include "runtime/progress.h"
#include "runtime/settings.h"

namespace agentd::runtime {

class Budgets final {
 public:
  Budgets(const Settings& settings, const Clock& clock, Instance& instance);

  // Takes up what was used in an earlier life; the instance is loaded.
  void load();

  // Counts what a round used. Returns its cost in dollars, 0 for a model without a price.
  double spend(const std::string& model, const llm::Usage& usage);
  // Which budget of tokens or dollars, the turn's or the day's, is used up, and how much of it there was; nothing while the turn may go on.
  [[nodiscard]] std::optional<std::string> overspent(const Progress& turn) const;
  // The same, and of rounds.
  [[nodiscard]] std::optional<std::string> exhausted(const Progress& turn) const;

  // {day, tokens, usd, tokens_per_day?, usd_per_day?}: what is limited has its limit.
  [[nodiscard]] Json to_json() const;

 private:
  void roll();

  const Settings& settings_;
  const Clock& clock_;
  Instance& instance_;
  std::int64_t day_ = -1;  // since the epoch
  std::uint64_t tokens_ = 0;
  double usd_ = 0;
};

}  // namespace agentd::runtime
