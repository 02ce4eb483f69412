#include "cli/demo_feed.h"

#include <chrono>

#include "cli/fields.h"
#include "cli/render.h"

namespace agentd::cli {
namespace {

// What belongs to the end of a task (its run, its conversation) follows it within this.
constexpr std::chrono::milliseconds kQuiet{100};
constexpr int kMostQuiets = 5;

}  // namespace

DemoFeed::DemoFeed(const client::Rpc& rpc, Console console, bool json)
    : rpc_(rpc), console_(console), json_(json), style_(console.out.style()), thread_([this] { follow(); }) {}

DemoFeed::~DemoFeed() { finish(); }

void DemoFeed::follow() {
  // A cut is mended by the reader without a loss, and a feed that has just begun needs no resync.
  const client::FeedSink sink{.frame = [this](const Json& frame) { take_frame(frame); },
                              .resync = [] {},
                              .retry = [](std::string_view, std::int64_t) {}};
  client::FeedReader reader(rpc_, console_.stop, clock_, {}, sink);
  [[maybe_unused]] const auto end = reader.run();
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void DemoFeed::take_frame(const Json& frame) {
  const Json& event = member(frame, "event");
  if (json_) {
    console_.out.line(dump_json(frame));
  } else if (event.is_object()) {
    console_.out.line(render_event(event, style_));
  }
  const std::lock_guard lock(mutex_);
  ++frames_;
  connected_ = true;
  const Json& task = member(member(event, "data"), "task");
  if (is_terminal(state_name(member(task, "status")))) ended_.insert(text_of(task, "id"));
  changed_.notify_all();
}

bool DemoFeed::wait_for_hello(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return connected_ || over_; });
  return connected_ && !over_;
}

void DemoFeed::wait_for_end_of(const std::string& task, std::int64_t ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return ended_.contains(task) || over_; });
  for (int i = 0; i < kMostQuiets; ++i) {
    const std::size_t before = frames_;
    const bool more = changed_.wait_for(lock, kQuiet, [&] { return frames_ != before || over_; });
    if (!more || over_) return;
  }
}

void DemoFeed::finish() {
  console_.stop.request();
  if (thread_.joinable()) thread_.join();
}

}  // namespace agentd::cli
