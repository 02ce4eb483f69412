#include "client/feed_reader.h"

#include <algorithm>

#include "client/rpc_error.h"

namespace agentd::client {
namespace {

// A stream that lived this long was a good one: the next wait is short again.
constexpr std::int64_t kLastedMs = 5'000;
// A goodbye sooner than this after the hello must not make a tight loop of connecting.
constexpr std::int64_t kOrderlyMs = 500;

Error cut(std::string why) { return {.code = Code::kUnavailable, .message = std::move(why)}; }

}  // namespace

FeedReader::FeedReader(const Rpc& rpc, const Stop& stop, const Clock& clock, FeedOptions options, FeedSink sink,
                       FeedSeams seams)
    : rpc_(rpc),
      stop_(stop),
      clock_(clock),
      options_(std::move(options)),
      sink_(std::move(sink)),
      seams_(std::move(seams)),
      cursor_(options_.from),
      backoff_(seams_.random) {}

Result<FeedEnd> FeedReader::run() {
  while (!stop_.requested()) {
    const Attempt done = attempt();
    const std::int64_t lasted_ms = hello_ms_ >= 0 ? clock_.mono_ms() - hello_ms_ : 0;
    const bool orderly = done.next == Next::kAtOnce && lasted_ms >= kOrderlyMs;
    if (orderly || lasted_ms >= kLastedMs) backoff_.reset();
    switch (done.next) {
      case Next::kStop: return FeedEnd::kStopped;
      case Next::kRevoked: return FeedEnd::kRevoked;
      case Next::kGiveUp: return std::unexpected(done.error);
      case Next::kRetry: back_off(done.error); break;
      case Next::kAtOnce:
        if (!orderly) back_off(cut("the stream's deadline came at once"));
        break;
    }
  }
  return FeedEnd::kStopped;
}

FeedReader::Attempt FeedReader::attempt() {
  cursor_.connect();
  hello_ms_ = -1;
  Call call{.method = "agentd.events/SubscribeToEvents",
            .params = {{"fromSeq", cursor_.cursor()}},
            .extensions = {kEventsUri},
            .deadlines = {.silence_ms = options_.silence_ms, .total_ms = 0}};
  call.extensions.insert(call.extensions.end(), options_.extensions.begin(), options_.extensions.end());

  Attempt outcome{.next = Next::kRetry, .error = cut("the connection was cut")};
  const RpcSink sink{.result = [&](const Json& frame) { return take_frame(frame, outcome); },
                     .comment =
                         [&](std::string_view comment) {
                           cursor_.take_comment(comment);
                           return true;
                         }};
  const auto end = rpc_.stream(call, sink);
  if (stop_.requested()) return {.next = Next::kStop, .error = {}};
  if (!end) return judge(end.error());
  if (*end == StreamEnd::kSilent) outcome.error.message = "no sign of life for too long";
  return outcome;
}

// False ends the stream; `outcome` says what comes next.
bool FeedReader::take_frame(const Json& frame, Attempt& outcome) {
  const auto meaning = cursor_.take_frame(frame);
  if (!meaning) {
    outcome.error = meaning.error();
    return false;
  }
  if (*meaning == FeedCursor::Meaning::kRepeat) return true;
  sink_.frame(frame);
  switch (*meaning) {
    case FeedCursor::Meaning::kResync: sink_.resync(); [[fallthrough]];
    case FeedCursor::Meaning::kHello:
      reached_ = true;
      hello_ms_ = clock_.mono_ms();
      return true;
    case FeedCursor::Meaning::kEvent:
    case FeedCursor::Meaning::kRepeat: return true;
    case FeedCursor::Meaning::kDeadline: outcome.next = Next::kAtOnce; return false;
    case FeedCursor::Meaning::kRevoked: outcome.next = Next::kRevoked; return false;
  }
  return false;
}

FeedReader::Attempt FeedReader::judge(const Error& error) const {
  constexpr Code kPassing[] = {Code::kUnavailable, Code::kTimeout,  Code::kRateLimited,
                               Code::kDraining,    Code::kInternal, Code::kParse};
  const bool passing = std::ranges::find(kPassing, error.code) != std::end(kPassing);
  const bool told_to_wait = error.code == Code::kRateLimited || retry_after_ms(error) > 0;
  const bool retry = passing && (reached_ || options_.patient || told_to_wait);
  return {.next = retry ? Next::kRetry : Next::kGiveUp, .error = error};
}

void FeedReader::back_off(const Error& error) {
  const std::int64_t delay = std::max(backoff_.next_ms(), retry_after_ms(error));
  sink_.retry(error.message, delay);
  if (seams_.pause) {
    seams_.pause(delay);
  } else {
    [[maybe_unused]] const bool stopped = stop_.wait_ms(delay);
  }
}

}  // namespace agentd::client
