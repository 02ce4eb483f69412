#include "runtime/journal.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

store::Op row(const std::string& id, const std::string& body = "{}") {
  return store::TaskRow{.id = id, .state = "TASK_STATE_WORKING", .body = body};
}

using Ids = std::vector<std::string>;

class JournalTest : public CoreTest {
 protected:
  Journal& journal() { return life_->journal; }
  void SetUp() override { begin(); }

  // Of the tasks in a batch.
  static Ids ids(const store::Batch& batch) {
    Ids out;
    for (const auto& task : WatchedStore::rows_in<store::TaskRow>(batch)) out.push_back(task.id);
    return out;
  }
  std::string stored(const std::string& id) const {
    const auto task = store_.task(id).value();
    return task ? task->body : "nothing";
  }
};

TEST_F(JournalTest, WhatChangedInOneTurnIsOneBatch) {
  bool changed = false;
  journal().add_source([&](store::Batch& batch) {
    if (std::exchange(changed, false)) batch.push_back(row("source"));
  });
  loop_.post([&] {
    journal().put(row("first"));
    changed = true;
    journal().touched();
    journal().put(row("second"));
    journal().touched_lazily();
  });
  ASSERT_TRUE(run_until([&] { return !store_.applied().empty(); }));
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(ids(store_.applied().front()), (Ids{"first", "second", "source"}));
  EXPECT_EQ(store_.rows<store::TaskRow>().size(), 3U);
}

TEST_F(JournalTest, NobodyHearsOfAChangeBeforeItIsDurable) {
  store_.set(Mood::kTakesItsTime);
  bool told = false;
  journal().put(row("a"));
  journal().when_durable([&](const Status& status) { told = status.has_value(); });
  EXPECT_FALSE(told);
  run_turns();
  EXPECT_EQ(ids(store_.waiting()), Ids{"a"});
  EXPECT_FALSE(told);
  store_.set(Mood::kWorks);
  EXPECT_TRUE(run_until([&] { return told; }));
}

TEST_F(JournalTest, OneBatchIsUnderWayAtATime) {
  store_.set(Mood::kTakesItsTime);
  for (const char* id : {"a", "b", "c"}) {
    journal().put(row(id));
    run_turns();
  }
  EXPECT_EQ(ids(store_.waiting()), Ids{"a"});
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(ids(store_.applied().at(1)), (Ids{"b", "c"}));
}

TEST_F(JournalTest, ALazyChangeIsWrittenAlthoughNothingElseHappens) {
  bool changed = true;
  journal().add_source([&](store::Batch& batch) {
    if (std::exchange(changed, false)) batch.push_back(row("lazy"));
  });
  journal().touched_lazily();
  EXPECT_TRUE(run_until([&] { return stored("lazy") == "{}"; }));
}

TEST_F(JournalTest, ARefusalIsToldAndTheRowsComeAgainBeforeNewerOnes) {
  store_.set(Mood::kRefuses);
  Code code = Code::kInternal;
  journal().put(row("a", "1"));
  journal().when_durable([&](const Status& status) { code = status.error().code; });
  run_turns();
  EXPECT_EQ(code, Code::kUnavailable);
  EXPECT_EQ(stored("a"), "nothing");
  store_.set(Mood::kWorks);
  journal().put(row("b"));
  journal().put(row("a", "2"));
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(ids(store_.applied().front()), (Ids{"a", "b", "a"}));
  EXPECT_EQ(stored("a"), "2");
}

TEST_F(JournalTest, RefusedRowsAreTriedAgainByThemselves) {
  store_.set(Mood::kRefuses);
  journal().put(row("a"));
  ASSERT_TRUE(run_until([&] { return store_.refusals() > 2; }));
  store_.set(Mood::kWorks);
  EXPECT_TRUE(run_until([&] { return stored("a") == "{}"; }));
}

TEST_F(JournalTest, ARetryNeverOvertakesANewerRow) {
  store_.set(Mood::kTakesItsTime);
  journal().put(row("a", "old"));
  run_turns();
  journal().put(row("a", "new"));
  run_turns();
  store_.refuse_oldest();
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return stored("a") != "nothing"; }));
  ASSERT_TRUE(run_until_durable());
  EXPECT_EQ(stored("a"), "new");
}

TEST_F(JournalTest, WhoWaitsForDurabilityWaitsThroughRefusals) {
  store_.set(Mood::kRefuses);
  bool told = false;
  journal().put(row("a"));
  journal().once_durable([&] { told = true; });
  ASSERT_TRUE(run_until([&] { return store_.refusals() > 2; }));
  EXPECT_FALSE(told);
  store_.set(Mood::kWorks);
  EXPECT_TRUE(run_until([&] { return told; }));
  EXPECT_EQ(stored("a"), "{}");
}

TEST_F(JournalTest, FlushingWaitsForWhatIsOnItsWayToo) {
  journal().put(row("a"));
  run_turns();
  ASSERT_EQ(store_.applied().size(), 1U);
  journal().flush_now();
  // The store answers in order: its answer to a batch with nothing in it says that the one before is durable.
  EXPECT_EQ(store_.applied().size(), 2U);
  EXPECT_EQ(stored("a"), "{}");
}

TEST_F(JournalTest, TheStoreMayAnswerAfterTheJournalsEnd) {
  store_.set(Mood::kTakesItsTime);
  bool told = false;
  journal().put(row("a"));
  journal().when_durable([&](const Status&) { told = true; });
  run_turns();
  life_.reset();
  store_.set(Mood::kWorks);
  ASSERT_TRUE(run_until([&] { return stored("a") == "{}"; }));
  run_turns();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace agentd::runtime
