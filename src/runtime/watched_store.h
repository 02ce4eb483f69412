// WatchedStore: a memory store for tests, which tells what was committed, and which refuses or takes its time when told to.
//
// Writes, and what tells of them, are for the test's thread, on which the core runs; reads are as thread-safe as the store's.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/store.h"

namespace agentd::runtime {

class WatchedStore final : public store::Store {
 public:
  enum class Mood : std::uint8_t { kWorks, kRefuses, kTakesItsTime };

  // What waits is applied when it works again, and refused when it refuses.
  void set(Mood mood) {
    mood_ = mood;
    for (Pending& pending : std::exchange(waiting_, {})) commit(std::move(pending.batch), std::move(pending.done));
  }
  // Refuses what came first of what waits; the rest goes on waiting.
  void refuse_oldest() {
    Pending pending = std::move(waiting_.front());
    waiting_.pop_front();
    refuse(pending.done);
  }

  void commit(store::Batch batch, std::function<void(Status)> done) override {
    switch (mood_) {
      case Mood::kTakesItsTime: waiting_.push_back({std::move(batch), std::move(done)}); return;
      case Mood::kRefuses: refuse(done); return;
      case Mood::kWorks:
        applied_.push_back(batch);
        inner_->commit(std::move(batch), std::move(done));
        return;
    }
  }

  [[nodiscard]] const std::vector<store::Batch>& applied() const { return applied_; }
  // The batch that came last of what waits; empty when nothing does.
  [[nodiscard]] store::Batch waiting() const { return waiting_.empty() ? store::Batch{} : waiting_.back().batch; }
  [[nodiscard]] std::size_t refusals() const { return refusals_; }

  // The rows of one type in a batch, and in all that was applied.
  template <class Row>
  [[nodiscard]] static std::vector<Row> rows_in(const store::Batch& batch) {
    std::vector<Row> out;
    for (const store::Op& op : batch) {
      if (const Row* row = std::get_if<Row>(&op)) out.push_back(*row);
    }
    return out;
  }
  template <class Row>
  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> out;
    for (const store::Batch& batch : applied_) {
      for (Row& row : rows_in<Row>(batch)) out.push_back(std::move(row));
    }
    return out;
  }

  [[nodiscard]] Result<std::vector<store::TaskRow>> tasks() const override { return inner_->tasks(); }
  [[nodiscard]] Result<std::optional<store::TaskRow>> task(const std::string& id) const override {
    return inner_->task(id);
  }
  [[nodiscard]] Result<std::vector<store::RunRow>> runs() const override { return inner_->runs(); }
  [[nodiscard]] Result<std::optional<store::RunRow>> run(const std::string& id) const override {
    return inner_->run(id);
  }
  [[nodiscard]] Result<std::vector<store::StepRow>> steps(const std::string& run) const override {
    return inner_->steps(run);
  }
  [[nodiscard]] Result<std::vector<store::ConversationRow>> conversations() const override {
    return inner_->conversations();
  }
  [[nodiscard]] Result<std::vector<store::MessageRow>> messages(const std::string& conversation, std::size_t limit,
                                                                std::size_t bytes) const override {
    return inner_->messages(conversation, limit, bytes);
  }
  [[nodiscard]] Result<std::optional<store::IdempotencyRow>> idempotency(const std::string& principal,
                                                                         const std::string& key) const override {
    return inner_->idempotency(principal, key);
  }
  [[nodiscard]] Result<std::vector<store::SessionRow>> sessions() const override { return inner_->sessions(); }
  [[nodiscard]] Result<std::vector<store::AuditRow>> audit(std::size_t limit) const override {
    return inner_->audit(limit);
  }
  [[nodiscard]] Result<std::string> instance() const override { return inner_->instance(); }
  [[nodiscard]] Result<std::uint64_t> reserved_seq() const override { return inner_->reserved_seq(); }
  [[nodiscard]] std::string kind() const override { return inner_->kind(); }
  [[nodiscard]] bool degraded() const override { return mood_ == Mood::kRefuses; }

 private:
  struct Pending {
    store::Batch batch;
    std::function<void(Status)> done;
  };

  void refuse(const std::function<void(Status)>& done) {
    ++refusals_;
    if (done) done(fail(Code::kUnavailable, "the disk is full"));
  }

  Mood mood_ = Mood::kWorks;
  std::deque<Pending> waiting_;
  std::vector<store::Batch> applied_;
  std::size_t refusals_ = 0;
  std::unique_ptr<store::Store> inner_ = store::make_memory();  // last, so that its thread ends first
};

}  // namespace agentd::runtime
