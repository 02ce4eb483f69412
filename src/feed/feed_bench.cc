// What a push and a peek cost (performance.md): a push of a 300-byte event with no subscriber is to take 3
// us.
#include <benchmark/benchmark.h>

#include <string>

#include "feed/feed.h"

namespace agentd::feed {
namespace {

Run run_event() {
  return {.id = "run-00000001",
          .workflow = "deploy",
          .status = "running",
          .start = "message",
          .steps = {{"completed", 3}, {"running", 1}},
          .tokens = 4120,
          .created = 1'770'000'000'000,
          .updated = 1'770'000'005'000,
          .finished = {},
          .output = nullptr,
          .error = {},
          .task = "task-00000001",
          .principal = "user:alice"};
}

// A feed whose ring is full, of events of `owners` principals in turn.
class Full {
 public:
  explicit Full(int owners = 1) {
    Run run = run_event();
    for (int i = 0; i < 2048; ++i) feed.push(Visibility::owner("user:" + std::to_string(i % owners)), run);
  }
  SystemClock clock;
  Feed feed{{}, 1, [](std::uint64_t) { return agentd::Status(); }, clock};
};

void push_300_bytes(benchmark::State& state) {
  Full full;
  const Run run = run_event();
  const Visibility visibility = Visibility::owner("user:alice");
  for (auto _ : state) benchmark::DoNotOptimize(full.feed.push(visibility, run));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(push_300_bytes);

void peek_one_event(benchmark::State& state) {
  const Full full;
  const Subscription reader(full.feed, {.viewer = {.is_operator = true, .principal = "user:boss"}},
                            full.feed.window().newest - 1);
  for (auto _ : state) benchmark::DoNotOptimize(reader.peek(64U << 10U));
}
BENCHMARK(peek_one_event);

void peek_64_kib(benchmark::State& state) {
  const Full full;
  const Subscription reader(full.feed, {.viewer = {.is_operator = true, .principal = "user:boss"}}, 0);
  for (auto _ : state) benchmark::DoNotOptimize(reader.peek(64U << 10U));
}
BENCHMARK(peek_64_kib);

// The whole ring belongs to others.
void peek_past_1024_invisible(benchmark::State& state) {
  const Full full(100);
  const Subscription reader(full.feed, {.viewer = {.is_operator = false, .principal = "user:nobody"}}, 0);
  for (auto _ : state) benchmark::DoNotOptimize(reader.peek(64U << 10U));
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(peek_past_1024_invisible);

}  // namespace
}  // namespace agentd::feed
