#include "wire/task_stream.h"

#include <fmt/format.h>

#include <utility>

namespace agentd::wire {
namespace {

constexpr std::size_t kQueueBytes = 8U << 20U;

}  // namespace

TaskStream::TaskStream(net::Loop& edge, SseFraming framing, std::shared_ptr<const std::atomic<bool>> revoked,
                       Start start)
    : edge_(edge), framing_(std::move(framing)), revoked_(std::move(revoked)), start_(std::move(start)) {}

void TaskStream::check_revoked() {
  if (is_revoked() && wake_) wake_();
}

void TaskStream::on_event(std::shared_ptr<const runtime::TaskEvent> event) {
  edge_.post([self = shared_from_this(), event = std::move(event)]() mutable { self->enqueue(std::move(event)); });
}

void TaskStream::enqueue(std::shared_ptr<const runtime::TaskEvent> event) {
  queued_bytes_ += event->text.size();
  ended_ = ended_ || event->last;
  if (queued_bytes_ > kQueueBytes && !queue_.empty()) cut_ = true;
  std::string id = fmt::format("id: {}\n", event->number);
  queue_.push_back(std::make_shared<const Waiting>(std::move(event), std::move(id)));
  if (const Start start = std::exchange(start_, nullptr)) wake_ = start(shared_from_this());
  if (wake_) wake_();
}

bool TaskStream::peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) {
  std::size_t bytes = 0;
  for (const auto& waiting : queue_) {
    if (bytes > 0 && bytes + waiting->event->text.size() > max_bytes) return true;
    bytes += waiting->event->text.size();
    out.push_back({.owner = waiting, .pieces = {waiting->id, framing_.before, waiting->event->text, framing_.after}});
  }
  return false;
}

void TaskStream::consume(std::size_t count) {
  for (; count > 0; --count) {
    queued_bytes_ -= queue_.front()->event->text.size();
    queue_.pop_front();
  }
}

http::StreamSource::State TaskStream::state() const {
  if (cut_ || is_revoked()) return State::kCut;
  return ended_ && queue_.empty() ? State::kFinished : State::kOpen;
}

void TaskStream::closed() {
  wake_ = nullptr;
  queue_.clear();
  queued_bytes_ = 0;
}

}  // namespace agentd::wire
