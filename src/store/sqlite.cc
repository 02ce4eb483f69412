// The SQLite store: a lock on the folder, one connection that writes on the queue's thread, one that reads.
#include <fmt/format.h>

#include <atomic>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/mutex.h"
#include "store/commit_queue.h"
#include "store/folder_lock.h"
#include "store/sqlite_rows.h"
#include "store/sqlite_schema.h"
#include "store/store.h"

namespace agentd::store {
namespace {

class SqliteStore final : public Store {
 public:
  SqliteStore(FolderLock lock, std::string file, SQLite::Database writer, SQLite::Database reader)
      : lock_(std::move(lock)), file_(std::move(file)), writer_(std::move(writer)), reader_(std::move(reader)) {}

  void commit(Batch batch, std::function<void(Status)> done) override {
    queue_.push(std::move(batch), std::move(done));
  }

  Result<std::vector<TaskRow>> tasks() const override { return read(&SqliteReader::tasks); }
  Result<std::optional<TaskRow>> task(const std::string& id) const override { return read(&SqliteReader::task, id); }
  Result<std::vector<RunRow>> runs() const override { return read(&SqliteReader::runs); }
  Result<std::optional<RunRow>> run(const std::string& id) const override { return read(&SqliteReader::run, id); }
  Result<std::vector<StepRow>> steps(const std::string& run) const override { return read(&SqliteReader::steps, run); }
  Result<std::vector<ConversationRow>> conversations() const override { return read(&SqliteReader::conversations); }
  Result<std::vector<MessageRow>> messages(const std::string& conversation, std::size_t limit,
                                           std::size_t bytes) const override {
    return read(&SqliteReader::messages, conversation, limit, bytes);
  }
  Result<std::optional<IdempotencyRow>> idempotency(const std::string& principal,
                                                    const std::string& key) const override {
    return read(&SqliteReader::idempotency, principal, key);
  }
  Result<std::vector<SessionRow>> sessions() const override { return read(&SqliteReader::sessions); }
  Result<std::vector<AuditRow>> audit(std::size_t limit) const override { return read(&SqliteReader::audit, limit); }
  Result<std::string> instance() const override { return read(&SqliteReader::instance); }
  Result<std::uint64_t> reserved_seq() const override { return read(&SqliteReader::reserved_seq); }

  std::string kind() const override { return "sqlite"; }
  bool degraded() const override { return degraded_; }

 private:
  template <class Method, class... Keys>
  auto read(Method method, const Keys&... keys) const
      -> Result<std::invoke_result_t<Method, SqliteReader&, const Keys&...>> try {
    const MutexLock lock(mutex_);
    return (reader_.*method)(keys...);
  } catch (const SQLite::Exception& exception) {
    return std::unexpected(storage_error(file_, exception));
  }

  struct Written {
    Status status;
    bool locked_out = false;
  };

  // The group in one transaction; when that fails, each batch in one of its own, so that a bad one is alone
  // in failing.
  std::vector<Status> apply(const std::vector<Batch>& group) {
    const Batch* const first = group.data();
    Written last = write(first, first + group.size());
    if (last.status || last.locked_out || group.size() == 1) return std::vector<Status>(group.size(), last.status);
    std::vector<Status> statuses;
    for (const Batch& batch : group) {
      if (!last.locked_out) last = write(&batch, &batch + 1);
      statuses.push_back(last.status);
    }
    return statuses;
  }

  Written write(const Batch* first, const Batch* last) try {
    writer_.apply(first, last);
    degraded_ = false;
    return {};
  } catch (const SQLite::Exception& exception) {
    if (!is_fault_of_batch(exception)) degraded_ = true;
    return {.status = std::unexpected(storage_error(file_, exception)), .locked_out = is_locked_out(exception)};
  }

  const FolderLock lock_;
  const std::string file_;
  SqliteWriter writer_;  // of the queue's thread
  mutable Mutex mutex_;
  mutable SqliteReader reader_ AGENTD_GUARDED_BY(mutex_);
  std::atomic<bool> degraded_ = false;
  CommitQueue queue_{[this](const std::vector<Batch>& group) { return apply(group); }};  // last: ends first
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::string& folder) {
  auto lock = FolderLock::take(folder);
  if (!lock) return std::unexpected(lock.error());
  const std::string file = fmt::format("{}/agentd.db", folder);
  if (auto made = make_private_file(file); !made) return std::unexpected(made.error());
  auto writer = open_database(file);
  if (!writer) return std::unexpected(writer.error());
  auto reader = open_database(file);
  if (!reader) return std::unexpected(reader.error());
  try {
    return std::make_unique<SqliteStore>(std::move(*lock), file, std::move(*writer), std::move(*reader));
  } catch (const SQLite::Exception& exception) {  // a table is missing or has other columns
    return std::unexpected(storage_error(file, exception));
  } catch (const std::system_error& error) {
    return fail(Code::kUnavailable, fmt::format("{}: no thread for the store: {}", file, error.what()));
  }
}

}  // namespace agentd::store
