#include "wire/events_stream.h"

#include <fmt/format.h>

#include <algorithm>
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

EventsStream::EventsStream(http::Deadlines& deadlines, const feed::Feed& feed, feed::Readers& readers,
                           feed::Interest interest, std::uint64_t from_seq, SseFraming framing, EventsOptions options,
                           Quota::Place place)
    : Reader(readers, interest.viewer),
      readers_(readers),
      framing_(std::move(framing)),
      options_(options),
      subscription_(feed, std::move(interest), from_seq),
      place_(std::move(place)),
      deadline_(deadlines, [this] { end("deadline"); }) {
  // From 9/10 to 16/17 of it: a deadline comes late by up to a sixteenth, and late it may not be.
  const std::int64_t longest = options_.deadline_ms * 16 / 17;
  const std::int64_t shortest = options_.deadline_ms * 9 / 10;
  const auto room = static_cast<std::uint64_t>(longest - shortest + 1);
  deadline_.set(shortest + static_cast<std::int64_t>(random_u64() % room));
}

void EventsStream::woken(std::uint64_t accounted) {
  if (std::exchange(resting_, false)) subscription_.advance(std::max(subscription_.cursor(), accounted));
  wake();
}

void EventsStream::wake() {
  if (wake_) wake_();
}

// While it rests, nothing between its cursor and that of the readers concerned it.
void EventsStream::catch_up() {
  if (resting_) subscription_.advance(std::max(subscription_.cursor(), readers_.through()));
}

void EventsStream::end(const char* reason) {
  if (phase_ == Phase::kDone || phase_ == Phase::kCut || phase_ == Phase::kGoodbye) return;
  catch_up();
  // Hello is first, always: a stream that ends before its hello is cut, which its reader takes for what it is.
  phase_ = phase_ == Phase::kHello ? Phase::kCut : Phase::kGoodbye;
  reason_ = reason;
  wake();
}

http::StreamEvent EventsStream::event_frame(const feed::FramePtr& frame) const {
  const auto pieces = frame->pieces(subscription_.interest().annotations);
  if (!options_.ids) return {.owner = frame, .pieces = {framing_.before, pieces[0], pieces[1], framing_.after}};
  auto text = std::make_shared<Text>(fmt::format("id: {}\n{}", frame->seq, framing_.before), std::string(), frame);
  return {.owner = text, .pieces = {text->before, pieces[0], pieces[1], framing_.after}};
}

void EventsStream::peek_own(std::vector<http::StreamEvent>& out, std::string frame) {
  const std::uint64_t cursor = subscription_.cursor();
  auto text = std::make_shared<Text>();
  text->before = options_.ids ? fmt::format("id: {}\n{}", cursor, framing_.before) : framing_.before;
  text->frame = std::move(frame);
  out.push_back({.owner = text, .pieces = {text->before, text->frame, {}, framing_.after}});
  peeked_.push_back(cursor);
}

bool EventsStream::peek(std::vector<http::StreamEvent>& out, std::size_t max_bytes) {
  peeked_.clear();
  more_ = phase_ == Phase::kHello;
  if (subscription_.revoked()) end("revoked");
  if (phase_ == Phase::kHello) peek_own(out, subscription_.hello());
  if (phase_ == Phase::kEvents) peek_events(out, max_bytes);
  if (phase_ == Phase::kGoodbye) peek_own(out, subscription_.goodbye(reason_));
  return more_;
}

void EventsStream::peek_events(std::vector<http::StreamEvent>& out, std::size_t max_bytes) {
  catch_up();
  const feed::Subscription::Batch batch = subscription_.peek(max_bytes);
  if (batch.revoked) return end("revoked");
  if (batch.lagged) {
    phase_ = Phase::kCut;
    return;
  }
  more_ = batch.more;
  for (const feed::FramePtr& frame : batch.frames) {
    out.push_back(event_frame(frame));
    peeked_.push_back(frame->seq);
  }
  if (peeked_.empty()) {
    subscription_.advance(batch.through);
    rest();
  } else {
    resting_ = false;
    peeked_.back() = batch.through;
  }
}

// Whatever is pushed past the cursor from now on, the readers have not looked at yet, and will wake it for.
void EventsStream::rest() {
  resting_ = true;
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
  } else if (peeked_.empty() && !more_) {
    rest();
  }
}

http::StreamSource::State EventsStream::state() const {
  if (phase_ == Phase::kCut) return State::kCut;
  if (phase_ == Phase::kDone) return State::kFinished;
  return subscription_.revoked() ? State::kRevoked : State::kOpen;
}

std::string EventsStream::keep_alive() {
  catch_up();
  return fmt::format(": {}\n\n", subscription_.cursor());
}

void EventsStream::closed() {
  wake_ = nullptr;
  deadline_.clear();
  leave();
  place_.give_back();
}

}  // namespace agentd::wire
