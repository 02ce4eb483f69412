// What a delivery costs outside the kernel: from a push to the pieces that a write would take, for a thousand streams;
// and what it costs when it concerns none of them.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/gather.h"
#include "http/stream.h"
#include "wire/events_stream.h"

namespace agentd::wire {
namespace {

constexpr std::size_t kStreams = 1'000;
const feed::Visibility kAlices = feed::Visibility::owner("user:alice");

// Streams that rest, of alice or of somebody else each, without their connections.
class Subscribers {
 public:
  explicit Subscribers(bool of_alice) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      const std::string who = of_alice ? "user:alice" : "user:" + std::to_string(i);
      auto place = quota_.take(who, {.all = kStreams, .per_key = kStreams});
      auto source = std::make_shared<EventsStream>(deadlines_, feed_, readers_,
                                                   feed::Interest{.viewer = {.is_operator = false, .principal = who}},
                                                   0, rpc_framing(7), EventsOptions(), std::move(*place));
      streams_.push_back(std::make_unique<http::Stream>(std::move(source), http::StreamLimits(), http::Chunked::kYes));
    }
    while (send() > 0) {
    }
  }

  void push() {
    feed_.push(kAlices,
               feed::Conversation{
                   .id = "root", .context_id = "c", .kind = "chat", .skills = {}, .updated = 1'770'000'000'000});
    readers_.moved();
  }
  // The bytes that all of them would hand to the kernel now, which takes them.
  std::size_t send() {
    std::size_t bytes = 0;
    for (const auto& stream : streams_) {
      gather_->clear();
      peeked_.clear();
      stream->gather(*gather_, peeked_);
      bytes += gather_->bytes();
      stream->taken(gather_->bytes(), peeked_);
    }
    return bytes;
  }

 private:
  SystemClock clock_;
  net::Loop loop_;
  http::Deadlines deadlines_{loop_, clock_};
  feed::Feed feed_{{}, 1, [](std::uint64_t) { return Status(); }, clock_};
  feed::Readers readers_{feed_};
  Quota quota_;
  const std::unique_ptr<http::Gather> gather_ = std::make_unique<http::Gather>();
  std::vector<http::StreamEvent> peeked_;
  std::vector<std::unique_ptr<http::Stream>> streams_;
};

void deliver_to_1000(benchmark::State& state) {
  Subscribers subscribers(true);
  for (auto _ : state) {
    subscribers.push();
    benchmark::DoNotOptimize(subscribers.send());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kStreams));
}
BENCHMARK(deliver_to_1000);

void push_past_1000_others(benchmark::State& state) {
  Subscribers subscribers(false);
  for (auto _ : state) subscribers.push();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_past_1000_others);

}  // namespace
}  // namespace agentd::wire
