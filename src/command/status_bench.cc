// What `status` costs the core, whose document an edge then writes: 500 runs that have ended and 500 conversations, for an operator (command.md section 4).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "base/ids.h"
#include "base/temporary_folder.h"
#include "command/status_document.h"
#include "runtime/core_life.h"

namespace agentd::command {
namespace {

constexpr std::size_t kEach = 500;

// A store with what an earlier life left.
void fill(store::Store& store) {
  store::Batch batch;
  for (std::size_t i = 0; i < kEach; ++i) {
    const auto at = static_cast<std::int64_t>(1'770'000'000'000 + i);
    runtime::RunFacts facts{.id = runtime::fresh_run_id(),
                            .workflow = "report",
                            .hash = "h",
                            .start = "command",
                            .principal = "user:alice",
                            .task = "t",
                            .inputs = Json::object(),
                            .created_ms = at,
                            .updated_ms = at,
                            .finished_ms = at,
                            .status = workflow::RunStatus::kCompleted,
                            .output = {{"said", "for alice again"}, {"count", 2}},
                            .steps = {{"done", 3}}};
    batch.emplace_back(runtime::to_row(facts));
    const std::string id = "ctx-" + random_hex(16);
    batch.emplace_back(store::ConversationRow{.id = id,
                                              .principal = "user:alice",
                                              .context = id,
                                              .updated_ms = at,
                                              .body = R"({"version":4,"messages":4,"est_tokens":100,"turns":2})"});
  }
  if (!store.commit_now(std::move(batch))) std::abort();
}

void status(benchmark::State& state) {
  const TemporaryFolder folder;
  const auto store = store::open_sqlite(folder.path()).value();
  fill(*store);
  net::Loop loop;
  const SystemClock clock;
  runtime::Life life(loop, *store, clock, {.runs = {.keep_last = kEach}, .conversations = {.keep_last = kEach}});
  if (!life.runs.load() || !life.conversations.load()) std::abort();
  const access::Caller caller{.viewer = {.is_operator = true, .principal = "operator"}};
  for (auto _ : state) {
    const std::string document = status_document({.feed = life.feed,
                                                  .instance = life.instance,
                                                  .runs = life.runs,
                                                  .children = life.children,
                                                  .conversations = life.conversations,
                                                  .turns = life.turns,
                                                  .subagents = life.subagents,
                                                  .tools = life.tools,
                                                  .skills = life.skills},
                                                 caller);
    if (document.size() < kEach * 2 * 100) std::abort();
    benchmark::DoNotOptimize(document);
  }
}
BENCHMARK(status)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace agentd::command
