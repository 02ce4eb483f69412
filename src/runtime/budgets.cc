#include "runtime/budgets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time_text.h"

namespace agentd::runtime {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr double kMillion = 1e6;
constexpr char kSpent[] = "spent";

template <typename Number>
std::string used_up(Number used, Number limit, const char* what, const char* key) {
  return fmt::format("{} of {} {} are used (agent.budget.{})", used, limit, what, key);
}

}  // namespace

Budgets::Budgets(const Settings& settings, const Clock& clock, Instance& instance)
    : settings_(settings), clock_(clock), instance_(instance) {
  instance_.on_budget([this] { return to_json(); });
}

void Budgets::load() {
  const Json spent = instance_.kept(kSpent);
  if (!spent.is_object()) return;
  day_ = spent.value("day", day_);
  tokens_ = spent.value("tokens", tokens_);
  usd_ = spent.value("usd", usd_);
}

double Budgets::spend(const std::string& model, const llm::Usage& usage) {
  roll();
  double usd = 0;
  const auto& prices = settings_.now().agent.prices;
  const auto price = std::ranges::find(prices, model, &config::Price::model);
  if (price != prices.end()) {
    usd = (static_cast<double>(usage.input) * price->input + static_cast<double>(usage.output) * price->output) /
          kMillion;
  }
  tokens_ += usage.input + usage.output;
  usd_ += usd;
  instance_.keep(kSpent, {{"day", day_}, {"tokens", tokens_}, {"usd", usd_}});
  instance_.count([&usage](Counters& counters) {
    counters.tokens_in += usage.input;
    counters.tokens_out += usage.output;
  });
  return usd;
}

std::optional<std::string> Budgets::exhausted(const Progress& turn) const {
  const std::uint64_t most = settings_.now().agent.budget.rounds_per_turn;
  if (most > 0 && turn.rounds >= most) return used_up(turn.rounds, most, "rounds of this turn", "rounds_per_turn");
  return overspent(turn);
}

std::optional<std::string> Budgets::overspent(const Progress& turn) const {
  const config::Budget& budget = settings_.now().agent.budget;
  const bool today = day_ == clock_.wall_ms() / kDayMs;
  const std::uint64_t tokens = turn.tokens_in + turn.tokens_out;
  if (budget.tokens_per_turn > 0 && tokens >= budget.tokens_per_turn) {
    return used_up(tokens, budget.tokens_per_turn, "tokens of this turn", "tokens_per_turn");
  }
  if (budget.usd_per_turn > 0 && turn.usd >= budget.usd_per_turn) {
    return used_up(turn.usd, budget.usd_per_turn, "dollars of this turn", "usd_per_turn");
  }
  if (budget.tokens_per_day > 0 && today && tokens_ >= budget.tokens_per_day) {
    return used_up(tokens_, budget.tokens_per_day, "tokens of this day", "tokens_per_day");
  }
  if (budget.usd_per_day > 0 && today && usd_ >= budget.usd_per_day) {
    return used_up(usd_, budget.usd_per_day, "dollars of this day", "usd_per_day");
  }
  return std::nullopt;
}

void Budgets::roll() {
  const std::int64_t day = clock_.wall_ms() / kDayMs;
  if (day == day_) return;
  day_ = day;
  tokens_ = 0;
  usd_ = 0;
}

Json Budgets::to_json() const {
  const config::Budget& budget = settings_.now().agent.budget;
  const std::int64_t day = clock_.wall_ms() / kDayMs;
  Json out = {{"day", rfc3339(day * kDayMs).substr(0, 10)},
              {"tokens", day == day_ ? tokens_ : 0},
              {"usd", day == day_ ? usd_ : 0.0}};
  if (budget.tokens_per_day > 0) out["tokens_per_day"] = budget.tokens_per_day;
  if (budget.usd_per_day > 0) out["usd_per_day"] = budget.usd_per_day;
  return out;
}

}  // namespace agentd::runtime
