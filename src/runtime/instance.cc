#include "runtime/instance.h"

#include <utility>

#include "base/log.h"
#include "base/version.h"

namespace agentd::runtime {
namespace {

constexpr std::int64_t kPushEveryMs = 250;
constexpr char kPaused[] = "paused";

}  // namespace

Instance::Instance(net::Loop& loop, feed::Feed& feed, Journal& journal, const Clock& clock, std::string name,
                   std::string model)
    : feed_(feed),
      journal_(journal),
      clock_(clock),
      name_(std::move(name)),
      model_(std::move(model)),
      started_ms_(clock.mono_ms()),
      pushed_ms_(started_ms_ - kPushEveryMs),
      later_(loop) {}

Status Instance::load() {
  const auto body = journal_.store().instance();
  if (!body) return std::unexpected(body.error());
  if (body->empty()) return {};
  Json kept = Json::parse(*body, nullptr, false);
  if (!kept.is_object()) return fail(Code::kUnavailable, "the row of the instance cannot be read from the store");
  kept_ = std::move(kept);
  const Json reason = this->kept(kPaused);
  paused_ = reason.is_string();
  if (paused_) log::warn("still paused: nothing starts until 'agentd resume'", {{"reason", reason}});
  return {};
}

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
  keep(kPaused, reason);
  feed_.push(feed::Visibility::all(), feed::Paused{reason});
  return true;
}

bool Instance::unpause() {
  if (!std::exchange(paused_, false)) return false;
  keep(kPaused, nullptr);
  feed_.push(feed::Visibility::all(), feed::Resumed{});
  return true;
}

void Instance::keep(const std::string& name, Json value) {
  kept_[name] = std::move(value);
  journal_.put(store::InstanceRow{.body = dump_json(kept_)});
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
          .budget = budget_(),
          .store_kind = journal_.store().kind(),
          .store_degraded = journal_.store().degraded()};
}

}  // namespace agentd::runtime
