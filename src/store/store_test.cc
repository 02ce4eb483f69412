// What both stores promise, held against both.
#include "store/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "store/commit_queue.h"

namespace agentd::store {
namespace {

constexpr std::size_t kAll = static_cast<std::size_t>(-1);

TaskRow task_row(const std::string& id, const std::string& state, const std::string& body) {
  return {.id = id, .principal = "ada", .context = "c1", .state = state, .created_ms = 1, .status_ms = 2, .body = body};
}
RunRow run_row(const std::string& id, const std::string& status) {
  return {.id = id, .principal = "ada", .status = status, .created_ms = 3, .updated_ms = 4, .body = "{\"run\":1}"};
}
ConversationRow conversation_row(const std::string& id) {
  return {.id = id, .principal = "ada", .context = "c1", .updated_ms = -5, .body = "v"};
}
IdempotencyRow idempotency_row(const std::string& key, std::int64_t created_ms) {
  return {.principal = "ada", .key = key, .digest = "d", .task = "t1", .created_ms = created_ms};
}

class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "memory") {
      store_ = make_memory();
    } else {
      auto opened = open_sqlite(folder_.path());
      ASSERT_TRUE(opened) << opened.error().message;
      store_ = std::move(*opened);
    }
  }

  Store& store() { return *store_; }
  void put(Batch batch) {
    const Status status = store_->commit_now(std::move(batch));
    ASSERT_TRUE(status) << status.error().message;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Both, StoreTest, testing::Values("memory", "sqlite"),
                         [](const auto& info) { return info.param; });

TEST_P(StoreTest, IsEmptyAtFirst) {
  EXPECT_EQ(store().kind(), GetParam());
  EXPECT_FALSE(store().degraded());
  EXPECT_TRUE(store().tasks()->empty());
  EXPECT_TRUE(store().runs()->empty());
  EXPECT_TRUE(store().steps("r")->empty());
  EXPECT_TRUE(store().conversations()->empty());
  EXPECT_TRUE(store().messages("c", 10, kAll)->empty());
  EXPECT_FALSE(store().task("t").value());
  EXPECT_FALSE(store().run("r").value());
  EXPECT_FALSE(store().idempotency("ada", "k").value());
  EXPECT_TRUE(store().sessions()->empty());
  EXPECT_TRUE(store().audit(10)->empty());
  EXPECT_EQ(store().instance().value(), "");
  EXPECT_EQ(store().reserved_seq().value(), 0U);
}

TEST_P(StoreTest, GivesBackEveryRowAsItWasPut) {
  const TaskRow task = task_row("t1", "TASK_STATE_WORKING", std::string("any bytes: \xff\0 '\"", 16));
  const RunRow run = run_row("r1", "running");
  const StepRow step{.run = "r1", .step = "build", .body = "s"};
  const ConversationRow conversation = conversation_row("v1");
  const MessageRow message{.conversation = "v1", .number = 1, .body = ""};
  const IdempotencyRow once = idempotency_row("k1", 9'007'199'254'740'993);
  const SessionRow session{.sid = "ds_1", .expires_ms = 7, .body = "b"};
  put({task, run, step, conversation, message, once, session});
  EXPECT_EQ(store().task("t1").value(), task);
  EXPECT_EQ(store().run("r1").value(), run);
  EXPECT_EQ(store().steps("r1").value(), std::vector{step});
  EXPECT_EQ(store().conversations().value(), std::vector{conversation});
  EXPECT_EQ(store().messages("v1", 5, kAll).value(), std::vector{message});
  EXPECT_EQ(store().idempotency("ada", "k1").value(), once);
  EXPECT_FALSE(store().idempotency("bob", "k1").value());
  EXPECT_EQ(store().sessions().value(), std::vector{session});
  put({DropSession{"ds_1"}});
  EXPECT_TRUE(store().sessions()->empty());
}

TEST_P(StoreTest, PutReplacesTheRowOfTheSameKeyOnly) {
  put({task_row("t1", "TASK_STATE_WORKING", "old"), task_row("t2", "TASK_STATE_WORKING", "other"),
       StepRow{"r1", "a", "old"}, StepRow{"r1", "b", "other"}, StepRow{"r2", "a", "other"}});
  put({task_row("t1", "TASK_STATE_COMPLETED", "new"), StepRow{"r1", "a", "new"}});
  EXPECT_EQ(store().tasks()->size(), 2U);
  EXPECT_EQ(store().task("t1").value()->body, "new");
  EXPECT_EQ(store().task("t2").value()->body, "other");
  EXPECT_EQ(store().steps("r1").value(), (std::vector{StepRow{"r1", "a", "new"}, StepRow{"r1", "b", "other"}}));
  EXPECT_EQ(store().steps("r2").value(), (std::vector{StepRow{"r2", "a", "other"}}));
}

TEST_P(StoreTest, ListsTasksAndRunsWithBodiesOnlyWhereTheyAreNotOver) {
  Batch batch;
  for (const char* state : {"SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"}) {
    batch.push_back(task_row(state, std::string("TASK_STATE_") + state, "live"));
  }
  for (const char* state : {"COMPLETED", "FAILED", "CANCELED", "REJECTED"}) {
    batch.push_back(task_row(state, std::string("TASK_STATE_") + state, "over"));
  }
  for (const char* status : {"queued", "running", "waiting"}) batch.push_back(run_row(status, status));
  for (const char* status : {"completed", "failed", "refused", "cancelled", "stalled"}) {
    batch.push_back(run_row(status, status));
  }
  put(std::move(batch));
  const auto tasks = store().tasks().value();
  EXPECT_EQ(tasks.size(), 8U);
  EXPECT_EQ(std::ranges::count(tasks, "live", &TaskRow::body), 4);
  EXPECT_EQ(std::ranges::count(tasks, "", &TaskRow::body), 4);
  EXPECT_EQ(store().task("FAILED").value()->body, "over");
  const auto runs = store().runs().value();
  EXPECT_EQ(std::ranges::count(runs, "{\"run\":1}", &RunRow::body), 3);
  EXPECT_EQ(std::ranges::count(runs, "", &RunRow::body), 5);
}

TEST_P(StoreTest, DropsWhatBelongsTogether) {
  put({task_row("t1", "TASK_STATE_WORKING", ""), run_row("r1", "running"), run_row("r2", "running"),
       StepRow{"r1", "a", ""}, StepRow{"r2", "a", ""}, conversation_row("v1"), conversation_row("v2"),
       MessageRow{"v1", 1, ""}, MessageRow{"v2", 1, ""}});
  put({DropTask{"t1"}, DropRun{"r1"}, DropConversation{"v1"}, DropTask{"never was"}});
  EXPECT_TRUE(store().tasks()->empty());
  EXPECT_FALSE(store().run("r1").value());
  EXPECT_TRUE(store().run("r2").value());
  EXPECT_TRUE(store().steps("r1")->empty());
  EXPECT_EQ(store().steps("r2")->size(), 1U);
  EXPECT_EQ(store().conversations()->size(), 1U);
  EXPECT_TRUE(store().messages("v1", 9, kAll)->empty());
  EXPECT_EQ(store().messages("v2", 9, kAll)->size(), 1U);
}

TEST_P(StoreTest, DropsIdempotencyOlderThanTheGivenMoment) {
  put({idempotency_row("old", 99), idempotency_row("edge", 100)});
  put({DropIdempotencyBefore{100}});
  EXPECT_FALSE(store().idempotency("ada", "old").value());
  EXPECT_TRUE(store().idempotency("ada", "edge").value());
}

TEST_P(StoreTest, GivesTheNewestMessagesOldestFirst) {
  Batch batch;
  for (const int number : {12, 3, 1, 10, 2}) batch.push_back(MessageRow{"v1", number, ""});
  put(std::move(batch));
  const auto numbers = [this](std::size_t limit) {
    std::vector<std::int64_t> found;
    for (const MessageRow& row : store().messages("v1", limit, kAll).value()) found.push_back(row.number);
    return found;
  };
  EXPECT_EQ(numbers(3), (std::vector<std::int64_t>{3, 10, 12}));
  EXPECT_EQ(numbers(static_cast<std::size_t>(-1)), (std::vector<std::int64_t>{1, 2, 3, 10, 12}));
  EXPECT_TRUE(numbers(0).empty());
}

TEST_P(StoreTest, GivesAsManyMessagesAsFitTheBytesAndTheNewestInAnyCase) {
  put({MessageRow{"v1", 1, "1"}, MessageRow{"v1", 2, "22"}, MessageRow{"v1", 3, "333"}, MessageRow{"v1", 4, "4444"}});
  const auto count = [this](std::size_t bytes) { return store().messages("v1", kAll, bytes)->size(); };
  EXPECT_EQ(count(10), 4U);
  EXPECT_EQ(count(9), 3U);
  EXPECT_EQ(count(8), 2U) << "what is older than one that does not fit is left out too";
  EXPECT_EQ(count(4), 1U);
  EXPECT_EQ(store().messages("v1", kAll, 0)->at(0).number, 4);
}

TEST_P(StoreTest, AppendsToTheAuditTrailAndGivesTheNewest) {
  const AuditRow row{.ts_ms = 7, .body = "same"};
  put({row, row, AuditRow{.ts_ms = 5, .body = "last"}});
  EXPECT_EQ(store().audit(9).value(), (std::vector<AuditRow>{{1, 7, "same"}, {2, 7, "same"}, {3, 5, "last"}}));
  EXPECT_EQ(store().audit(2).value(), (std::vector<AuditRow>{{2, 7, "same"}, {3, 5, "last"}}));
  EXPECT_TRUE(store().audit(0)->empty());
}

TEST_P(StoreTest, TrimsTheAuditTrailByAgeAndByCount) {
  const auto numbers = [this] {
    std::vector<std::int64_t> found;
    for (const AuditRow& row : store().audit(99).value()) found.push_back(row.number);
    return found;
  };
  put({TrimAudit{.before_ms = 10, .keep_last = 10}});
  for (const std::int64_t ts_ms : {9, 10, 11, 12}) put({AuditRow{.ts_ms = ts_ms, .body = ""}});
  put({TrimAudit{.before_ms = 10, .keep_last = 10}});
  EXPECT_EQ(numbers(), (std::vector<std::int64_t>{2, 3, 4}));
  put({TrimAudit{.before_ms = 0, .keep_last = 2}});
  EXPECT_EQ(numbers(), (std::vector<std::int64_t>{3, 4}));
  put({TrimAudit{.before_ms = 0, .keep_last = 0}});
  EXPECT_TRUE(numbers().empty());
  put({AuditRow{.ts_ms = 13, .body = ""}});
  EXPECT_EQ(numbers(), std::vector<std::int64_t>{5}) << "a number is not used twice";
}

TEST_P(StoreTest, KeepsOneRowOfTheInstance) {
  put({InstanceRow{"old"}, InstanceRow{"other"}});
  put({InstanceRow{"new"}});
  EXPECT_EQ(store().instance().value(), "new");
}

TEST_P(StoreTest, NeverLowersWhatIsReserved) {
  put({ReserveSeq{1'000}});
  put({ReserveSeq{10}});
  EXPECT_EQ(store().reserved_seq().value(), 1'000U);
  put({ReserveSeq{2'000}, ReserveSeq{1'500}});
  EXPECT_EQ(store().reserved_seq().value(), 2'000U);
}

TEST_P(StoreTest, ReleasesWhatWasReservedAndNotUsed) {
  put({ReserveSeq{1'000}, ReleaseSeq{400}});
  EXPECT_EQ(store().reserved_seq().value(), 400U);
  put({ReleaseSeq{700}});
  EXPECT_EQ(store().reserved_seq().value(), 400U);
}

TEST_P(StoreTest, AppliesTheOperationsOfABatchInOrder) {
  put({task_row("t1", "TASK_STATE_WORKING", "1"), DropTask{"t1"}, task_row("t1", "TASK_STATE_WORKING", "2")});
  EXPECT_EQ(store().task("t1").value()->body, "2");
  put({task_row("t1", "TASK_STATE_WORKING", "3"), DropTask{"t1"}});
  EXPECT_FALSE(store().task("t1").value());
}

TEST_P(StoreTest, CallsDoneInOrderAndOnlyWhenReadsSeeTheBatch) {
  constexpr int kBatches = 3'000;
  std::vector<int> order;  // written by the store's thread, read after the last `done`
  std::promise<void> last;
  std::atomic<int> unseen = 0;
  for (int i = 0; i < kBatches; ++i) {
    const std::string id = std::to_string(i);
    store().commit({task_row(id, "TASK_STATE_WORKING", id), ReserveSeq{static_cast<std::uint64_t>(i + 1)}},
                   [&, i, id](const Status& status) {
                     if (!status || !store().task(id).value()) ++unseen;
                     if (store().reserved_seq().value() < static_cast<std::uint64_t>(i) + 1) ++unseen;
                     order.push_back(i);
                     if (i == kBatches - 1) last.set_value();
                   });
  }
  last.get_future().wait();
  EXPECT_EQ(unseen, 0);
  EXPECT_EQ(order.size(), static_cast<std::size_t>(kBatches));
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST_P(StoreTest, TakesWritesAndReadsFromManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(store().commit_now({task_row(id, "TASK_STATE_WORKING", id)}));
        EXPECT_EQ(store().task(id).value()->body, id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store().tasks()->size(), 200U);
}

TEST_P(StoreTest, AppliesWhatIsQueuedBeforeItEnds) {
  std::atomic<int> done = 0;
  for (int i = 0; i < 500; ++i) {
    store().commit({task_row(std::to_string(i), "TASK_STATE_WORKING", "")},
                   [&](const Status& status) { done += status ? 1 : 0; });
  }
  store().commit({}, nullptr);
  store_.reset();
  EXPECT_EQ(done, 500);
}

TEST(CommitQueue, RefusesAtOnceWhatIsOverItsBounds) {
  std::promise<void> entered, release;
  std::shared_future<void> gate = release.get_future().share();
  bool first = true;
  CommitQueue queue(
      [&](const std::vector<Batch>& group) {
        if (std::exchange(first, false)) {
          entered.set_value();
          gate.wait();
        }
        return std::vector<Status>(group.size());
      },
      {.batches = 3, .bytes = 1'000'000});
  std::atomic<int> good = 0;
  const auto count = [&](const Status& status) { good += status ? 1 : 0; };
  queue.push({}, count);
  entered.get_future().wait();
  queue.push({}, count);
  Code answer{};
  queue.push({task_row("big", "", std::string(1'000'000, 'x'))},
             [&](const Status& status) { answer = status.error().code; });
  EXPECT_EQ(answer, Code::kUnavailable);  // too many bytes
  queue.push({}, count);
  answer = {};
  queue.push({}, [&](const Status& status) { answer = status.error().code; });
  EXPECT_EQ(answer, Code::kUnavailable);  // too many batches
  std::promise<void> after;
  release.set_value();
  while (good < 3) std::this_thread::yield();
  queue.push({}, [&](const Status&) { after.set_value(); });
  after.get_future().wait();
}

TEST(CommitQueue, TakesABatchOverItsBoundWhenNothingElseWaits) {
  std::promise<Status> answer;
  CommitQueue queue([](const std::vector<Batch>& group) { return std::vector<Status>(group.size()); }, {.bytes = 10});
  queue.push({DropTask{"t"}}, [&](Status status) { answer.set_value(std::move(status)); });
  EXPECT_TRUE(answer.get_future().get());
}

}  // namespace
}  // namespace agentd::store
