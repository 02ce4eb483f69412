// What a durable commit costs, alone and shared, and what the core's index costs at start.
#include <benchmark/benchmark.h>

#include <string>

#include "base/temporary_folder.h"
#include "store/store.h"

namespace agentd::store {
namespace {

TaskRow row(std::int64_t number, const std::string& body) {
  return {.id = std::to_string(number),
          .principal = "ada",
          .context = "c",
          .state = "TASK_STATE_COMPLETED",
          .created_ms = number,
          .status_ms = number,
          .body = body};
}

void open_empty(benchmark::State& state) {
  for (auto _ : state) {
    const TemporaryFolder folder;
    benchmark::DoNotOptimize(open_sqlite(folder.path()).value());
  }
}
BENCHMARK(open_empty)->Unit(benchmark::kMillisecond);

// `range` commits are under way at a time.
void commit(benchmark::State& state) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.path()).value();
  const std::string body(600, 'x');
  std::int64_t number = 0;
  for (auto _ : state) {
    for (std::int64_t i = 1; i < state.range(0); ++i) store->commit({row(++number, body)}, nullptr);
    benchmark::DoNotOptimize(store->commit_now({row(++number, body)}));
  }
  state.SetItemsProcessed(number);
}
BENCHMARK(commit)->Arg(1)->Arg(32)->Arg(256)->Arg(1024)->UseRealTime();

void list_tasks(benchmark::State& state) {
  const TemporaryFolder folder;
  const auto store = open_sqlite(folder.path()).value();
  const std::string body(2'000, 'x');
  Batch batch;
  for (std::int64_t i = 0; i < state.range(0); ++i) batch.push_back(row(i, body));
  benchmark::DoNotOptimize(store->commit_now(std::move(batch)));
  for (auto _ : state) benchmark::DoNotOptimize(store->tasks());
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(list_tasks)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace agentd::store
