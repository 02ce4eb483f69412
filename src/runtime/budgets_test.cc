#include "runtime/budgets.h"

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

class BudgetsTest : public CoreTest {
 protected:
  static Setting bounded() {
    Setting setting;
    setting.config.agent.budget = {
        .tokens_per_turn = 100, .tokens_per_day = 300, .rounds_per_turn = 3, .usd_per_day = 1};
    setting.config.agent.prices = {{.model = "dear", .input = 10, .output = 100}};
    return setting;
  }
  Budgets& budgets() { return life_->budgets; }
};

TEST_F(BudgetsTest, SayWhichOneIsUsedUpAndHowMuchOfIt) {
  begin(bounded());
  EXPECT_FALSE(budgets().exhausted({.rounds = 2, .tokens_in = 50, .tokens_out = 49}));
  EXPECT_EQ(budgets().exhausted({.rounds = 3}).value(),
            "3 of 3 rounds of this turn are used (agent.budget.rounds_per_turn)");
  EXPECT_EQ(budgets().exhausted({.tokens_in = 60, .tokens_out = 60}).value(),
            "120 of 100 tokens of this turn are used (agent.budget.tokens_per_turn)");
  budgets().spend("cheap", {.input = 200, .output = 100});
  EXPECT_EQ(budgets().exhausted({}).value(), "300 of 300 tokens of this day are used (agent.budget.tokens_per_day)");
}

TEST_F(BudgetsTest, CountDollarsByThePriceOfTheModel) {
  Setting setting = bounded();
  setting.config.agent.budget.tokens_per_day = 0;
  begin(setting);
  EXPECT_EQ(budgets().spend("cheap", {.input = 1'000, .output = 1'000}), 0);
  EXPECT_DOUBLE_EQ(budgets().spend("dear", {.input = 10'000, .output = 9'000}), 1.0);
  EXPECT_EQ(budgets().exhausted({}).value(), "1 of 1 dollars of this day are used (agent.budget.usd_per_day)");
}

TEST_F(BudgetsTest, ADaysUseOutlastsTheDaemonAndEndsWithTheDay) {
  begin(bounded());
  budgets().spend("cheap", {.input = 300, .output = 0});
  ASSERT_TRUE(run_until_durable());
  begin(bounded());
  EXPECT_TRUE(budgets().exhausted({}));
  EXPECT_EQ(life_->instance.payload().budget["tokens"], 300);
  clock_.advance_ms(86'400'000);
  EXPECT_FALSE(budgets().exhausted({}));
  EXPECT_EQ(life_->instance.payload().budget["tokens"], 0);
}

}  // namespace
}  // namespace agentd::runtime
