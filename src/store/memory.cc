// The store that forgets: for tests, and for a daemon that is told to keep nothing.
#include <map>
#include <ranges>
#include <utility>

#include "base/mutex.h"
#include "store/commit_queue.h"
#include "store/store.h"
#include "store/terminal.h"

namespace agentd::store {
namespace {

// The tables, each by its key.
struct Tables {
  std::map<std::string, TaskRow> tasks;
  std::map<std::string, RunRow> runs;
  std::map<std::string, std::map<std::string, StepRow>> steps;  // run -> step
  std::map<std::string, ConversationRow> conversations;
  std::map<std::string, std::map<std::int64_t, MessageRow>> messages;  // conversation -> number
  std::map<std::pair<std::string, std::string>, IdempotencyRow> idempotency;
  std::map<std::string, SessionRow> sessions;
  std::map<std::int64_t, AuditRow> audit;
  std::int64_t audited = 0;  // the newest number
  std::string instance;
  std::uint64_t reserved = 0;

  void apply(const TaskRow& row) { tasks[row.id] = row; }
  void apply(const RunRow& row) { runs[row.id] = row; }
  void apply(const StepRow& row) { steps[row.run][row.step] = row; }
  void apply(const ConversationRow& row) { conversations[row.id] = row; }
  void apply(const MessageRow& row) { messages[row.conversation][row.number] = row; }
  void apply(const IdempotencyRow& row) { idempotency[{row.principal, row.key}] = row; }
  void apply(const SessionRow& row) { sessions[row.sid] = row; }
  void apply(const AuditRow& row) {
    ++audited;
    audit[audited] = {.number = audited, .ts_ms = row.ts_ms, .body = row.body};
  }
  void apply(const InstanceRow& row) { instance = row.body; }
  void apply(const DropTask& drop) { tasks.erase(drop.id); }
  void apply(const DropRun& drop) {
    runs.erase(drop.id);
    steps.erase(drop.id);
  }
  void apply(const DropConversation& drop) {
    conversations.erase(drop.id);
    messages.erase(drop.id);
  }
  void apply(const DropIdempotencyBefore& drop) {
    std::erase_if(idempotency, [&](const auto& entry) { return entry.second.created_ms < drop.created_ms; });
  }
  void apply(const DropSession& drop) { sessions.erase(drop.sid); }
  void apply(const TrimAudit& trim) {
    std::erase_if(audit, [&](const auto& entry) {
      return entry.second.ts_ms < trim.before_ms || entry.first <= audited - trim.keep_last;
    });
  }
  void apply(const ReleaseSeq& release) { reserved = std::min(reserved, release.end); }
  void apply(const ReserveSeq& reserve) { reserved = std::max(reserved, reserve.end); }
};

template <class Map>
std::optional<typename Map::mapped_type> find(const Map& map, const typename Map::key_type& key) {
  const auto it = map.find(key);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

template <class Map>
auto values(const Map& map) {
  const auto view = std::views::values(map);
  return std::vector<typename Map::mapped_type>(view.begin(), view.end());
}

// The last `limit` of it, in order.
template <class Map>
auto newest(const Map& map, std::size_t limit) {
  const std::size_t skipped = map.size() - std::min(limit, map.size());
  auto view = std::views::values(map) | std::views::drop(skipped);
  return std::vector<typename Map::mapped_type>(view.begin(), view.end());
}

class MemoryStore final : public Store {
 public:
  void commit(Batch batch, std::function<void(Status)> done) override {
    queue_.push(std::move(batch), std::move(done));
  }

  Result<std::vector<TaskRow>> tasks() const override {
    const MutexLock lock(mutex_);
    std::vector<TaskRow> rows = values(tables_.tasks);
    for (TaskRow& row : rows) {
      if (is_terminal_task(row.state)) row.body.clear();
    }
    return rows;
  }
  Result<std::optional<TaskRow>> task(const std::string& id) const override {
    const MutexLock lock(mutex_);
    return find(tables_.tasks, id);
  }
  Result<std::vector<RunRow>> runs() const override {
    const MutexLock lock(mutex_);
    std::vector<RunRow> rows = values(tables_.runs);
    for (RunRow& row : rows) {
      if (is_terminal_run(row.status)) row.body.clear();
    }
    return rows;
  }
  Result<std::optional<RunRow>> run(const std::string& id) const override {
    const MutexLock lock(mutex_);
    return find(tables_.runs, id);
  }
  Result<std::vector<StepRow>> steps(const std::string& run) const override {
    const MutexLock lock(mutex_);
    return values(find(tables_.steps, run).value_or(std::map<std::string, StepRow>{}));
  }
  Result<std::vector<ConversationRow>> conversations() const override {
    const MutexLock lock(mutex_);
    return values(tables_.conversations);
  }
  Result<std::vector<MessageRow>> messages(const std::string& conversation, std::size_t limit,
                                           std::size_t bytes) const override {
    const MutexLock lock(mutex_);
    const auto it = tables_.messages.find(conversation);
    if (it == tables_.messages.end()) return std::vector<MessageRow>{};
    auto rows = newest(it->second, limit);
    std::size_t first = rows.size();
    for (; first > 0 && (first == rows.size() || rows[first - 1].body.size() <= bytes); --first) {
      bytes -= std::min(bytes, rows[first - 1].body.size());
    }
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
    return rows;
  }
  Result<std::optional<IdempotencyRow>> idempotency(const std::string& principal,
                                                    const std::string& key) const override {
    const MutexLock lock(mutex_);
    return find(tables_.idempotency, {principal, key});
  }
  Result<std::vector<SessionRow>> sessions() const override {
    const MutexLock lock(mutex_);
    return values(tables_.sessions);
  }
  Result<std::vector<AuditRow>> audit(std::size_t limit) const override {
    const MutexLock lock(mutex_);
    return newest(tables_.audit, limit);
  }
  Result<std::string> instance() const override {
    const MutexLock lock(mutex_);
    return tables_.instance;
  }
  Result<std::uint64_t> reserved_seq() const override {
    const MutexLock lock(mutex_);
    return tables_.reserved;
  }
  std::string kind() const override { return "memory"; }
  bool degraded() const override { return false; }

 private:
  std::vector<Status> apply(const std::vector<Batch>& group) {
    const MutexLock lock(mutex_);
    for (const Batch& batch : group) {
      for (const Op& op : batch) {
        std::visit([this](const auto& row) AGENTD_REQUIRES(mutex_) { tables_.apply(row); }, op);
      }
    }
    return std::vector<Status>(group.size());
  }

  mutable Mutex mutex_;
  Tables tables_ AGENTD_GUARDED_BY(mutex_);
  CommitQueue queue_{[this](const std::vector<Batch>& group) { return apply(group); }};  // last: ends first
};

}  // namespace

std::unique_ptr<Store> make_memory() { return std::make_unique<MemoryStore>(); }

}  // namespace agentd::store
