#include "runtime/instance.h"

#include <utility>

#include "base/version.h"

namespace agentd::runtime {
namespace {

constexpr std::int64_t kPushEveryMs = 250;

}  // namespace

Instance::Instance(net::Loop& loop, feed::Feed& feed, const store::Store& store, const Clock& clock, std::string name,
                   std::string model)
    : feed_(feed),
      store_(store),
      clock_(clock),
      name_(std::move(name)),
      model_(std::move(model)),
      started_ms_(clock.mono_ms()),
      pushed_ms_(started_ms_ - kPushEveryMs),
      later_(loop) {}

void Instance::rename(std::string name, std::string model) {
  if (name == name_ && model == model_) return;
  name_ = std::move(name);
  model_ = std::move(model);
  changed();
}

void Instance::drain(const std::string& reason) {
  if (std::exchange(draining_, true)) return;
  feed_.push(feed::Visibility::all(), feed::Draining{reason});
  changed();
}

bool Instance::pause(const std::string& reason) {
  if (std::exchange(paused_, true)) return false;
  feed_.push(feed::Visibility::all(), feed::Paused{reason});
  return true;
}

bool Instance::unpause() {
  if (!std::exchange(paused_, false)) return false;
  feed_.push(feed::Visibility::all(), feed::Resumed{});
  return true;
}

void Instance::changed() {
  if (later_.armed()) return;
  const std::int64_t wait = pushed_ms_ + kPushEveryMs - clock_.mono_ms();
  if (wait <= 0) {
    push();
  } else {
    later_.arm(wait, [this] { push(); });
  }
}

void Instance::push() {
  pushed_ms_ = clock_.mono_ms();
  feed_.push(feed::Visibility::operators(), payload());
}

feed::Status Instance::payload() const {
  return {.instance = name_,
          .model = model_,
          .version = kVersion,
          .draining = draining_,
          .counters = {{"turns", counters_.turns},
                       {"tool_calls", counters_.tool_calls},
                       {"runs_started", counters_.runs_started},
                       {"runs_finished", counters_.runs_finished},
                       {"tokens_in", counters_.tokens_in},
                       {"tokens_out", counters_.tokens_out}},
          .store_kind = store_.kind(),
          .store_degraded = store_.degraded()};
}

}  // namespace agentd::runtime
