// feed_visibility_matrix: each of the 18 kinds, pushed with every visibility that it may have, is read by whom events.md
// says and by nobody else, as it comes and replayed.
//
// This proves what the feed makes of a visibility. That each producer gives the one that its object has is for the tests
// of runtime/, and for feed_visibility.test.mjs, which drives all kinds but subagent, subagent.removed and config. That
// somebody without a credential gets no subscription at all is the gateway's doing: refusals.test.mjs. "nobody" below is
// what would be read, were there one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feed/feed.h"
#include "feed/readers.h"

namespace agentd::feed {
namespace {

using Names = std::vector<std::string>;

// ---- The table of events.md section 10: kind, widest audience, data. One payload of each type that carries the kind.

struct Row {
  std::string kind, audience;
  std::size_t payloads;
  std::function<void(Feed&, const Visibility&)> push;  // each of them once
};

template <Payload... P>
Row row(std::string kind, std::string audience, const P&... payloads) {
  return {.kind = std::move(kind),
          .audience = std::move(audience),
          .payloads = sizeof...(P),
          .push = [=](Feed& feed, const Visibility& visibility) { (feed.push(visibility, payloads), ...); }};
}

Task task() {
  return {.task = {{"id", "t"}, {"status", {{"state", "TASK_STATE_WORKING"}}}}, .annotations = {{"created", "x"}}};
}
Run run() {
  return {.id = "r", .workflow = "w", .status = "running", .start = "command", .steps = {}, .output = nullptr};
}
Conversation conversation() { return {.id = "c", .context_id = "c", .kind = "a2a", .skills = {}}; }
Activity activity() { return {.id = "a", .phase = "thinking"}; }
Auth auth() { return {.event = "revoked", .client_id = "cli", .scope = "user", .sid = "ds_1"}; }
Audit audit() { return {.action = "SendMessage", .target = {}, .outcome = "ok"}; }

const std::vector<Row>& page() {
  static const std::vector<Row> rows = {
      row("task", "owner", task()),
      row("task.removed", "owner", TaskRemoved{"t"}),
      row("run", "owner", run()),
      row("run.removed", "owner", RunRemoved{"r"}),
      row("step", "operator", StepStart{.run = "r", .step = "s", .kind = "exec"},
          StepDone{.run = "r", .step = "s", .status = "done"}),
      row("conversation", "owner", conversation()),
      row("conversation.removed", "owner", ConversationRemoved{"c"}),
      row("subagent", "operator", Subagent{.handle = "h", .mode = "sync", .status = "running"}),
      row("subagent.removed", "operator", SubagentRemoved{"h"}),
      row("child", "operator", Child{.node = 1, .pid = 2, .kind = "step:r/s"}),
      row("child.removed", "operator", ChildRemoved{"1"}),
      row("activity", "owner", activity()),
      row("activity.removed", "owner", ActivityRemoved{"a"}),
      row("status", "operator",
          Status{.instance = "i", .model = "m", .version = "1", .store_kind = "memory", .skill_prefix = ""}),
      row("lifecycle", "all", Draining{"SIGTERM"}, Paused{"maintenance"}, Resumed{}),
      row("config", "all", Config{.paths = {"a2a.principals"}, .source = "reload"}),
      row("audit", "operator", audit()),
      row("auth", "operator", auth()),
  };
  return rows;
}

// ---- Section 6: who sees an event of an audience, of an owner.

struct Somebody {
  std::string_view name;
  Viewer viewer;
};

const std::vector<Somebody>& everybody() {
  static const std::vector<Somebody> readers = {
      {"operator", {.is_operator = true, .principal = "operator"}},
      {"alice", {.is_operator = false, .principal = "user:alice"}},
      {"alice's session", {.is_operator = false, .principal = "user:alice"}},  // a sign-in of that name
      {"bob", {.is_operator = false, .principal = "user:bob"}},
      {"agent alice", {.is_operator = false, .principal = "agent:alice"}},
      {"nobody", {.is_operator = false, .principal = ""}},
  };
  return readers;
}

struct Reach {
  std::string_view audience;
  Visibility visibility;
  Names readers;
};

const std::vector<Reach>& reaches() {
  static const std::vector<Reach> all = {
      {"owner", Visibility::owner("user:alice"), {"operator", "alice", "alice's session"}},
      {"owner", Visibility::owner("user:bob"), {"operator", "bob"}},
      {"owner", Visibility::owner("agent:alice"), {"operator", "agent alice"}},
      {"owner", Visibility::owner(""), {"operator"}},
      {"operator", Visibility::operators(), {"operator"}},
      {"all", Visibility::all(), {"operator", "alice", "alice's session", "bob", "agent alice", "nobody"}},
  };
  return all;
}

// ---- Who reads.

// "task of user:alice", in the order in which they were given.
Names events_of(const std::vector<FramePtr>& frames) {
  Names out;
  for (const FramePtr& frame : frames) {
    const std::string& owner = frame->visibility.principal();
    out.push_back(std::string(kind_name(frame->kind)) + (owner.empty() ? "" : " of " + owner));
  }
  return out;
}

// A stream that reads when it is woken, as those of the edges do.
class Live final : public Reader {
 public:
  Live(Readers& readers, const Feed& feed, const Viewer& viewer)
      : Reader(readers, viewer), subscription_(feed, {.viewer = viewer}, 0) {}
  [[nodiscard]] const Names& given() const { return given_; }

 private:
  void woken(std::uint64_t) override {
    const auto batch = subscription_.peek(std::size_t{1} << 30U);
    for (std::string& event : events_of(batch.frames)) given_.push_back(std::move(event));
    subscription_.advance(batch.through);
  }
  [[nodiscard]] bool is_revoked() const override { return false; }

  Subscription subscription_;
  Names given_;
};

class VisibilityTest : public testing::Test {
 protected:
  VisibilityTest() {
    feed_.on_push([this] { readers_.moved(); });
    for (const Somebody& one : everybody()) live_.push_back(std::make_unique<Live>(readers_, feed_, one.viewer));
  }

  // Everything that can be pushed. After each the live streams have what a replay has.
  void push_all() {
    for (const Row& row : page()) {
      for (const Reach& reach : reaches()) {
        if (reach.audience != row.audience) continue;
        row.push(feed_, reach.visibility);
        expect_live_as_replayed();
      }
    }
  }
  void expect_live_as_replayed() const {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      EXPECT_EQ(live_[i]->given(), replayed(everybody()[i].viewer)) << everybody()[i].name;
    }
  }

  // What push_all() is to show somebody; `introspection`: audit too.
  static Names expected(std::string_view name, bool introspection) {
    Names out;
    for (const Row& row : page()) {
      for (const Reach& reach : reaches()) {
        const bool sees = std::ranges::find(reach.readers, name) != reach.readers.end();
        if (reach.audience != row.audience || !sees || (row.kind == "audit" && !introspection)) continue;
        const std::string& owner = reach.visibility.principal();
        const std::string event = row.kind + (owner.empty() ? "" : " of " + owner);
        out.insert(out.end(), row.payloads, event);
      }
    }
    return out;
  }

  [[nodiscard]] Names replayed(const Viewer& viewer) const {
    return events_of(Subscription(feed_, {.viewer = viewer}, 0).peek(std::size_t{1} << 30U).frames);
  }

  ManualClock clock_{1'770'000'000'000};
  Feed feed_{{.ring_events = 1000, .version = "1"}, 100, [](std::uint64_t) { return agentd::Status(); }, clock_};
  Readers readers_{feed_};
  std::vector<std::unique_ptr<Live>> live_;  // of everybody(), in that order
};

TEST_F(VisibilityTest, ShowsEachKindToWhomThePageSays) {
  ASSERT_EQ(page().size(), kKindCount);
  feed_.set_introspection(true);
  push_all();
  for (const auto& [name, viewer] : everybody()) EXPECT_EQ(replayed(viewer), expected(name, true)) << name;
}

TEST_F(VisibilityTest, KeepsAuditFromEverybodyWhileIntrospectionIsOff) {
  push_all();
  for (const auto& [name, viewer] : everybody()) EXPECT_EQ(replayed(viewer), expected(name, false)) << name;
  feed_.set_introspection(true);
  feed_.push(Visibility::operators(), audit());
  feed_.set_introspection(false);
  for (const auto& [name, viewer] : everybody()) EXPECT_EQ(replayed(viewer), expected(name, false)) << name;
}

// What is in the ring stays whose it was: the new owner is not shown what came before, nor the old one what comes after.
TEST_F(VisibilityTest, TellsTheOldOwnerThatAnObjectIsGoneAndTheNewOneThatItIsThere) {
  for (const std::string kind : {"task", "run", "conversation", "activity"}) {
    const auto push = [&](const std::string& name, const char* owner) {
      std::ranges::find(page(), name, &Row::kind)->push(feed_, Visibility::owner(owner));
    };
    push(kind, "user:alice");
    push(kind + ".removed", "user:alice");
    push(kind, "user:bob");
  }
  const Names hers = {"task of user:alice",         "task.removed of user:alice",
                      "run of user:alice",          "run.removed of user:alice",
                      "conversation of user:alice", "conversation.removed of user:alice",
                      "activity of user:alice",     "activity.removed of user:alice"};
  const Names his = {"task of user:bob", "run of user:bob", "conversation of user:bob", "activity of user:bob"};
  expect_live_as_replayed();
  for (const auto& [name, viewer] : everybody()) {
    if (viewer.is_operator) {
      EXPECT_EQ(replayed(viewer).size(), hers.size() + his.size());
    } else {
      EXPECT_EQ(replayed(viewer), viewer.principal == "user:alice" ? hers : name == "bob" ? his : Names()) << name;
    }
  }
}

}  // namespace
}  // namespace agentd::feed
