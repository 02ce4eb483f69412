#include "wire/events_stream.h"

#include <fmt/format.h>

#include <utility>

#include "base/ids.h"

namespace agentd::wire {
namespace {

// A frame that is this stream's alone: hello and goodbye, and the id line of GET /events.
struct Text {
  std::string before, frame;
  feed::FramePtr event;
};

}  // namespace

EventsStream::EventsStream(net::Loop& edge, const feed::Feed& feed, feed::Interest interest, std::uint64_t from_seq,
                           SseFraming framing, EventsOptions options, std::function<void()> gone)
    : interest_(std::move(interest)),
      framing_(std::move(framing)),
      options_(options),
      subscription_(feed, interest_, from_seq),
      gone_(std::move(gone)),
      deadline_(edge) {
  const auto shortened =
      static_cast<std::int64_t>(random_u64() % static_cast<std::uint64_t>(options_.deadline_ms / 10 + 1));
  deadline_.arm(options_.deadline_ms - shortened, [this] { end("deadline"); });
}

void EventsStream::wake() {
  if (wake_) wake_();
}

void EventsStream::end(const char* reason) {
  if (phase_ == Phase::kDone || phase_ == Phase::kCut || phase_ == Phase::kGoodbye) return;
  // Hello is first, always: a stream that ends before its hello is cut, which its reader takes for what it is.
  phase_ = phase_ == Phase::kHello ? Phase::kCut : Phase::kGoodbye;
  reason_ = reason;
  wake();
}

http::StreamEvent EventsStream::own_frame(std::uint64_t id, std::string frame) const {
  auto text = std::make_shared<Text>();
  text->before = options_.ids ? fmt::format("id: {}\n{}", id, framing_.before) : framing_.before;
  text->frame = std::move(frame);
  return {.owner = text, .pieces = {text->before, text->frame, {}, framing_.after}};
}

http::StreamEvent EventsStream::event_frame(const feed::FramePtr& frame) const {
  const auto pieces = frame->pieces(interest_.annotations);
  if (!options_.ids) return {.owner = frame, .pieces = {framing_.before, pieces[0], pieces[1], framing_.after}};
  auto text = std::make_shared<Text>(fmt::format("id: {}\n{}", frame->seq, framing_.before), std::string(), frame);
  return {.owner = text, .pieces = {text->before, pieces[0], pieces[1], framing_.after}};
}

void EventsStream::peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) {
  peeked_.clear();
  if (phase_ == Phase::kHello) {
    out.push_back(own_frame(subscription_.cursor(), subscription_.hello()));
    peeked_.push_back(subscription_.cursor());
    return;
  }
  if (phase_ == Phase::kGoodbye) {
    out.push_back(own_frame(subscription_.cursor(), subscription_.goodbye(reason_)));
    peeked_.push_back(subscription_.cursor());
    return;
  }
  if (phase_ != Phase::kEvents) return;
  const feed::Subscription::Batch batch = subscription_.peek(max_bytes);
  if (batch.lagged) {
    phase_ = Phase::kCut;
    return;
  }
  for (const feed::FramePtr& frame : batch.frames) {
    out.push_back(event_frame(frame));
    peeked_.push_back(frame->seq);
  }
  if (!peeked_.empty()) {
    peeked_.back() = batch.through;
    return;
  }
  subscription_.advance(batch.through);
  if (!options_.follow) phase_ = Phase::kDone;
}

void EventsStream::consume(std::size_t count) {
  if (count == 0) return;
  subscription_.advance(peeked_[count - 1]);
  peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<std::ptrdiff_t>(count));
  if (phase_ == Phase::kHello) {
    phase_ = Phase::kEvents;
  } else if (phase_ == Phase::kGoodbye) {
    phase_ = Phase::kDone;
  }
}

http::StreamSource::State EventsStream::state() const {
  if (phase_ == Phase::kCut) return State::kCut;
  return phase_ == Phase::kDone ? State::kFinished : State::kOpen;
}

std::string EventsStream::keep_alive() { return fmt::format(": {}\n\n", subscription_.cursor()); }

void EventsStream::closed() {
  wake_ = nullptr;
  deadline_.cancel();
  if (auto gone = std::exchange(gone_, nullptr)) gone();
}

}  // namespace agentd::wire
