// Journal: what changed in one turn of the core's loop, written as one atomic batch.
//
// The objects of the runtime say `touched()` when they change and are asked for their rows once, at the end of the turn, so
// that a task and the message that made it are durable together or not at all. A batch that the store refuses is kept
// and tried again every second; nothing is forgotten while the store is degraded. One batch is under way at a time, so
// that an older row never overwrites a newer one; what changes meanwhile is the next batch.
// Confined to the core thread. Cost: at most one store batch per turn that changed something.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "net/loop.h"
#include "store/store.h"

namespace agentd::runtime {

class Journal final {
 public:
  // Tries again what the store refused after `retry_ms`.
  Journal(net::Loop& loop, store::Store& store, std::int64_t retry_ms = 1000);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // `rows` appends the current rows of what changed since it was last called.
  void add_source(std::function<void(store::Batch&)> rows);

  void put(store::Op row);  // a row that is no object's: written at the end of this turn
  void touched();           // write at the end of this turn
  void touched_lazily();    // write within 250 ms: for changes that nobody waits for

  // Calls `then` when all that was touched up to now is durable, or with the store's refusal. Never calls it at once.
  void when_durable(std::move_only_function<void(Status)> then);
  // The same, however often the store refuses before.
  void once_durable(std::move_only_function<void()> then);

  // Runs `read` on the store's thread, after all that was touched up to now, and then `then` on the core's: for reads that take
  // long. While the store refuses writes, what it holds is read.
  void read(std::move_only_function<void(const store::Store&)> read, std::move_only_function<void()> then);

  // Calls `changed` when the store begins or ceases to refuse writes.
  void on_refusing(std::function<void()> changed) { on_refusing_ = std::move(changed); }
  [[nodiscard]] bool refusing() const { return refusing_; }

  // Writes what is left and returns when it, and all before it, is durable; for shutdown.
  void flush_now();

  [[nodiscard]] const store::Store& store() const { return store_; }

 private:
  using Waiters = std::vector<std::move_only_function<void(Status)>>;
  void schedule();
  void flush();
  void committed(store::Batch batch, Waiters waiters, Status status);
  store::Batch collect();

  net::Loop& loop_;
  store::Store& store_;
  const std::int64_t retry_ms_;
  std::vector<std::function<void(store::Batch&)>> sources_;
  Waiters waiters_;
  store::Batch put_;
  store::Batch refused_;    // older than anything the sources will give
  bool due_ = false;        // something is to be written
  bool posted_ = false;     // flush() is on its way
  bool under_way_ = false;  // the store has a batch and has not answered
  bool refusing_ = false;   // the last batch was refused
  std::function<void()> on_refusing_;
  net::Timer lazy_;
  net::Timer retry_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // the store may answer after our end
};

}  // namespace agentd::runtime
