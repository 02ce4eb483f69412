// CoreTest: the core without a transport, for the tests of this folder and of those above it.
//
// Everything runs on the test's thread: run_until() drives a real loop until the test sees what it waits for. The clock stands
// still unless the test moves it. begin() once more is a kill and the next start over the same store.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "runtime/core_life.h"
#include "runtime/watched_store.h"

namespace agentd::runtime {

inline const feed::Viewer kOperator{.is_operator = true, .principal = "operator"};
inline const feed::Viewer kAlice{.is_operator = false, .principal = "user:alice"};
inline const feed::Viewer kBob{.is_operator = false, .principal = "user:bob"};

// What a caller is told: nothing while it waits.
using Answer = std::shared_ptr<std::optional<Result<Json>>>;

inline Reply into(Answer answer) {
  return [answer = std::move(answer)](Result<ReplyValue> result) {
    EXPECT_FALSE(answer->has_value()) << "answered twice";
    if (!result) {
      *answer = std::unexpected(std::move(result.error()));
    } else if (const auto* text = std::get_if<JsonText>(&*result)) {
      *answer = Json::parse(text->text);
    } else {
      *answer = std::get<Json>(*std::move(result));
    }
  };
}

// One stream of a task, as it came.
struct Stream final : TaskListener {
  void on_event(std::shared_ptr<const TaskEvent> event) override { events.push_back(std::move(event)); }
  std::vector<std::shared_ptr<const TaskEvent>> events;
};

class CoreTest : public testing::Test {
 protected:
  using Mood = WatchedStore::Mood;

  CoreTest() : folder_(std::filesystem::path(testing::TempDir()) / ("core" + random_hex(8))) {
    std::filesystem::create_directory(folder_);
  }
  ~CoreTest() override {
    life_.reset();
    std::filesystem::remove_all(folder_);
  }

  Life& begin(const Setting& setting = {}) {
    life_.reset();
    Life& life = life_.emplace(loop_, store_, clock_, setting);
    EXPECT_TRUE(life.instance.load() && life.tasks.load() && life.conversations.load() && life.runs.load());
    life.budgets.load();
    life.runs.resume();
    for (const std::string& id : life.tasks.live()) {
      if (Task* task = life.tasks.working(id)) life.turns.resume(*task);
    }
    return life;
  }

  // False when it did not come about in 10 s.
  [[nodiscard]] bool run_until(const std::function<bool()>& done) {
    const SystemClock clock;
    const std::int64_t deadline = clock.mono_ms() + 10'000;
    net::Timer timer(loop_);
    std::function<void()> look = [&] {
      if (done() || clock.mono_ms() > deadline) return loop_.stop();
      timer.arm(1, look);
    };
    loop_.post(look);
    loop_.run();
    return done();
  }
  // Whatever follows at once from what was done, while the store itself says nothing.
  void run_turns() {
    constexpr int kTurns = 20;
    for (int i = 0; i < kTurns; ++i) {
      loop_.stop();
      loop_.run();
    }
  }
  // All that was changed is in the store.
  [[nodiscard]] bool run_until_durable() {
    bool durable = false;
    life_->journal.when_durable([&](const Status& status) { durable = status.has_value(); });
    return run_until([&] { return durable; });
  }

  // The events on the feed that the viewer may see, of one kind or of all ("").
  [[nodiscard]] std::vector<Json> pushed(std::string_view kind, const feed::Viewer& viewer = kOperator) const {
    const feed::Subscription all(life_->feed, {.viewer = viewer}, 0);
    std::vector<Json> out;
    for (const feed::FramePtr& frame : all.peek(std::size_t{1} << 30U).frames) {
      Json event = Json::parse(frame->text)["event"];
      if (kind.empty() || event["kind"] == kind) out.push_back(std::move(event["data"]));
    }
    return out;
  }

  [[nodiscard]] static Json message(const std::string& text, Json more = Json::object()) {
    Json out = {{"messageId", "m-" + random_hex(8)}, {"role", "ROLE_USER"}, {"parts", {{{"text", text}}}}};
    out.update(more);
    return out;
  }
  Answer send(const Call& call, const Json& message, Json configuration = Json::object()) {
    auto answer = std::make_shared<std::optional<Result<Json>>>();
    auto sending = read_sending({{"message", message}, {"configuration", std::move(configuration)}});
    life_->service.send(call, std::move(sending.value()), {.reply = into(answer)});
    return answer;
  }
  // The id of the only task that has not ended.
  [[nodiscard]] std::string live_task() const {
    const auto live = life_->tasks.live();
    EXPECT_EQ(live.size(), 1U);
    return live.empty() ? "" : live.front();
  }
  [[nodiscard]] std::shared_ptr<const Task> task(const std::string& id, const feed::Viewer& viewer = kOperator) const {
    auto found = life_->tasks.find(viewer, id);
    return found ? *found : nullptr;
  }
  [[nodiscard]] bool has_ended(const std::string& id) const {
    const auto found = task(id);
    return found && a2a::is_terminal(found->state);
  }
  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

  const std::filesystem::path folder_;  // a temporary one
  net::Loop loop_;                      // before the store, whose thread posts to it
  ManualClock clock_;
  WatchedStore store_;
  std::optional<Life> life_;
};

}  // namespace agentd::runtime
