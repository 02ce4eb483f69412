#include "runtime/audit.h"

#include <gtest/gtest.h>

#include "runtime/core_fixture.h"

namespace agentd::runtime {
namespace {

class AuditTest : public CoreTest {
 protected:
  // The records in the store, each without its time.
  std::vector<Json> stored() {
    EXPECT_TRUE(run_until_durable());
    std::vector<Json> out;
    for (const store::AuditRow& row : store_.audit(1000).value()) {
      out.push_back(Json::parse(row.body));
      EXPECT_EQ(out.back()["ts"], row.ts_ms);
      out.back().erase("ts");
    }
    return out;
  }
  Json last() {
    const auto all = stored();
    return all.empty() ? Json() : all.back();
  }
  static Call as(const feed::Viewer& viewer) { return {.caller = {.viewer = viewer}}; }
};

TEST_F(AuditTest, SaysWhoDidWhatToWhatAndInWhichSession) {
  const access::Caller caller{.viewer = kAlice, .role = config::Role::kUser, .sid = "ds_1"};
  Audit& audit = begin().audit;
  audit.done(&caller, "act", {{"task", "t"}});
  audit.refused(nullptr, "authenticate", nullptr, Code::kUnauthenticated);
  audit.refused(&caller, "act", nullptr, Code::kInvalidParams);
  EXPECT_EQ(stored(), (std::vector<Json>{
                          {{"principal", "user:alice"},
                           {"role", "user"},
                           {"action", "act"},
                           {"target", {{"task", "t"}}},
                           {"outcome", "ok"},
                           {"sid", "ds_1"}},
                          {{"principal", nullptr},
                           {"role", nullptr},
                           {"action", "authenticate"},
                           {"target", nullptr},
                           {"outcome", "UNAUTHENTICATED"}},
                          {{"principal", "user:alice"},
                           {"role", "user"},
                           {"action", "act"},
                           {"target", nullptr},
                           {"outcome", "INVALID"},
                           {"sid", "ds_1"}},
                      }));
}

TEST_F(AuditTest, IsOnTheFeedForOperatorsWhileIntrospectionIsOn) {
  begin().feed.set_introspection(true);
  life_->audit.done(nullptr, "act", nullptr);
  EXPECT_EQ(pushed("audit").size(), 1U);
  EXPECT_TRUE(pushed("audit", kAlice).empty());
  EXPECT_EQ(stored().size(), 1U);
  begin().audit.done(nullptr, "act", nullptr);
  EXPECT_TRUE(pushed("audit").empty());
  EXPECT_EQ(stored().size(), 2U);
}

TEST_F(AuditTest, IsDurableWithWhatItTellsOf) {
  begin();
  send(as(kAlice), message("hello"));
  ASSERT_TRUE(run_until([&] { return !store_.rows<store::AuditRow>().empty(); }));
  const store::Batch& first = store_.applied().front();
  EXPECT_EQ(store_.rows_in<store::TaskRow>(first).size(), 1U);
  EXPECT_EQ(store_.rows_in<store::AuditRow>(first).size(), 1U);
}

TEST_F(AuditTest, TellsOfMessagesThatMakeOrContinueATaskAndOfCancels) {
  begin({.rules = "rules: [{when: {text: hang}, reply: [{delay: 1h}]}]\n"});
  const auto sent = send(as(kAlice), message("hang"), {{"returnImmediately", true}});
  ASSERT_TRUE(run_until([&] { return sent->has_value(); }));
  const std::string id = live_task();
  EXPECT_EQ(last(), (Json{{"principal", "user:alice"},
                          {"role", "user"},
                          {"action", "SendMessage"},
                          {"target", {{"task", id}}},
                          {"outcome", "ok"}}));
  send(as(kAlice), message("more", {{"taskId", id}}));
  EXPECT_EQ(stored().size(), 2U);
  send(as(kBob), message("more", {{"taskId", id}}));
  EXPECT_EQ(stored().size(), 2U) << "it continued nothing";

  const auto cancel = [&](const feed::Viewer& viewer) {
    auto answer = std::make_shared<std::optional<Result<Json>>>();
    life_->service.cancel_task(as(viewer), {{"id", id}}, into(answer));
    EXPECT_TRUE(run_until([&] { return answer->has_value(); }));
    const Json record = last();
    return std::pair(record["target"], record["outcome"]);
  };
  EXPECT_EQ(cancel(kBob), std::pair(Json(), Json("TASK_NOT_FOUND")));
  EXPECT_EQ(cancel(kAlice), std::pair(Json{{"task", id}}, Json("ok")));
  EXPECT_EQ(cancel(kAlice), std::pair(Json{{"task", id}}, Json("TASK_NOT_CANCELABLE")));
  EXPECT_EQ(stored().size(), 5U);
}

TEST_F(AuditTest, KeepsWhatWasDoneButNoRefusalsWhileTheStoreRefuses) {
  Audit& audit = begin().audit;
  store_.set(Mood::kRefuses);
  audit.done(nullptr, "first", nullptr);
  ASSERT_TRUE(run_until([&] { return life_->journal.refusing(); }));
  audit.refused(nullptr, "refused", nullptr, Code::kUnavailable);
  audit.done(nullptr, "second", nullptr);
  store_.set(Mood::kWorks);
  const auto records = [&] { return store_.rows<store::AuditRow>().size(); };
  ASSERT_TRUE(run_until([&] { return records() == 2; }));
  EXPECT_EQ(last()["action"], "second");
  EXPECT_EQ(records(), 2U);
}

TEST_F(AuditTest, DropsTheOldestPastTheRetention) {
  Setting setting;
  setting.config.store.audit = {.keep_last = 2, .ttl_ms = 1000};
  Audit& audit = begin(setting).audit;
  for (const char* action : {"a", "b", "c"}) audit.done(nullptr, action, nullptr);
  audit.enforce_retention();
  EXPECT_EQ(stored().size(), 2U);
  clock_.advance_ms(1001);
  audit.done(nullptr, "d", nullptr);
  audit.enforce_retention();
  ASSERT_EQ(stored().size(), 1U);
  EXPECT_EQ(last()["action"], "d");
}

TEST_F(AuditTest, ManyRecordsAreNotKeptUntilSomebodyTidies) {
  Setting setting;
  setting.config.store.audit = {.keep_last = 2};
  Audit& audit = begin(setting).audit;
  for (int i = 0; i < 2'000; ++i) audit.done(nullptr, "a", nullptr);
  EXPECT_EQ(stored().size(), 2U);
}

}  // namespace
}  // namespace agentd::runtime
