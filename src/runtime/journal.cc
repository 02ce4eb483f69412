#include "runtime/journal.h"

#include <iterator>
#include <utility>

#include "base/log.h"

namespace agentd::runtime {
namespace {

constexpr std::int64_t kLazyMs = 250;

void append(store::Batch& to, store::Batch&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Journal::Journal(net::Loop& loop, store::Store& store, std::int64_t retry_ms)
    : loop_(loop), store_(store), retry_ms_(retry_ms), lazy_(loop), retry_(loop) {}

Journal::~Journal() { *alive_ = false; }

void Journal::add_source(std::function<void(store::Batch&)> rows) { sources_.push_back(std::move(rows)); }

void Journal::put(store::Op row) {
  put_.push_back(std::move(row));
  schedule();
}

void Journal::touched() { schedule(); }

void Journal::touched_lazily() {
  if (!due_ && !lazy_.armed()) lazy_.arm(kLazyMs, [this] { schedule(); });
}

void Journal::when_durable(std::move_only_function<void(Status)> then) {
  waiters_.push_back(std::move(then));
  schedule();
}

void Journal::once_durable(std::move_only_function<void()> then) {
  when_durable([this, then = std::move(then)](const Status& status) mutable {
    status ? then() : once_durable(std::move(then));
  });
}

void Journal::read(std::move_only_function<void(const store::Store&)> read, std::move_only_function<void()> then) {
  struct Task {
    std::move_only_function<void(const store::Store&)> read;
    std::move_only_function<void()> then;
  };
  auto task = std::make_shared<Task>(std::move(read), std::move(then));
  when_durable([this, task](const Status&) {
    store_.commit({}, [&store = store_, &loop = loop_, alive = alive_, task](const Status&) {
      task->read(store);
      loop.post([alive, task] {
        if (*alive) task->then();
      });
    });
  });
}

void Journal::schedule() {
  due_ = true;
  if (under_way_ || retry_.armed() || std::exchange(posted_, true)) return;
  loop_.post([this, alive = alive_] {
    if (!*alive) return;
    posted_ = false;
    flush();
  });
}

store::Batch Journal::collect() {
  store::Batch batch = std::exchange(refused_, {});
  append(batch, std::exchange(put_, {}));
  for (const auto& rows : sources_) rows(batch);
  return batch;
}

void Journal::flush() {
  under_way_ = true;
  store::Batch batch = collect();
  Waiters waiters = std::exchange(waiters_, {});
  due_ = false;
  lazy_.cancel();
  if (batch.empty() && waiters.empty()) {
    under_way_ = false;
    return;
  }
  // The store gives no batch back, and one that it refuses must not be lost: this copy is what a refusal puts back.
  auto kept = std::make_shared<std::pair<store::Batch, Waiters>>(batch, std::move(waiters));
  store_.commit(std::move(batch), [this, alive = alive_, kept, &loop = loop_](Status status) {
    loop.post([this, alive, kept, status = std::move(status)]() mutable {
      if (*alive) committed(std::move(kept->first), std::move(kept->second), std::move(status));
    });
  });
}

void Journal::committed(store::Batch batch, Waiters waiters, Status status) {
  under_way_ = false;
  const bool refused_before = std::exchange(refusing_, !status);
  if (!status) {
    if (!refused_before) {
      log::error("the store refuses writes; trying again until it takes them", {{"reason", status.error().message}});
    }
    refused_ = std::move(batch);
    retry_.arm(retry_ms_, [this] { flush(); });
  }
  if (refused_before != refusing_ && on_refusing_) on_refusing_();
  // Where the store is and what ails it is for the log: who waits may be anybody.
  const Status told =
      status ? Status{}
             : fail(Code::kUnavailable, "the store cannot be written now; it is tried again until it can be");
  for (auto& waiter : waiters) waiter(told);
  if (due_) schedule();
}

void Journal::flush_now() {
  // An empty batch too: the store answers in order, so after this one no answer is outstanding.
  if (const Status status = store_.commit_now(collect()); !status) {
    log::error("the store refused the last writes", {{"reason", status.error().message}});
  }
}

}  // namespace agentd::runtime
