// Store: what survives the daemon. One writer thread, group commit; the rows are documents with the few
// columns that the core needs to find them.
//
// Thread-safe. Writes: any thread queues, the store's thread applies; `done` is called on the store's thread
// once the batch is durable (fsync included for SQLite), in the order of the commits. A batch is atomic, and
// one that fails does not fail its neighbours. Reads: any thread, synchronous, see every batch whose `done`
// has been called. Overload: commit() never blocks. While 64 MiB or 16,384 batches wait, it calls `done` with
// kUnavailable itself, before it returns: the one case in which `done` runs on the caller's thread and out of
// order. Failure: after a write that the disk refused the store is degraded. Every later commit is tried as
// it comes and answers kUnavailable as long as that fails; the first success ends it. Nothing acknowledged is
// lost; a batch that was answered with an error may still turn out to be there after a crash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace agentd::store {

struct TaskRow {
  std::string id, principal, context, state;
  std::int64_t created_ms = 0, status_ms = 0;
  std::string body;  // JSON
  bool operator==(const TaskRow&) const = default;
};
struct RunRow {
  std::string id, principal, status;
  std::int64_t created_ms = 0, updated_ms = 0;
  std::string body;
  bool operator==(const RunRow&) const = default;
};
struct StepRow {
  std::string run, step;
  std::string body;
  bool operator==(const StepRow&) const = default;
};
struct ConversationRow {
  std::string id, principal, context;
  std::int64_t updated_ms = 0;
  std::string body;
  bool operator==(const ConversationRow&) const = default;
};
struct MessageRow {  // one message of a conversation, numbered from 1
  std::string conversation;
  std::int64_t number = 0;
  std::string body;
  bool operator==(const MessageRow&) const = default;
};
struct IdempotencyRow {
  std::string principal, key;
  std::string digest;  // of the request it came with
  std::string task;
  std::int64_t created_ms = 0;
  bool operator==(const IdempotencyRow&) const = default;
};

struct SessionRow {  // a sign-in; its token is known by its hash alone
  std::string sid;
  std::int64_t expires_ms = 0;
  std::string body;  // JSON
  bool operator==(const SessionRow&) const = default;
};
struct AuditRow {
  std::int64_t number = 0;  // the store's own; what is put has none
  std::int64_t ts_ms = 0;
  std::string body;  // JSON
  bool operator==(const AuditRow&) const = default;
};

struct InstanceRow {  // the only one: what is kept of the daemon as a whole
  std::string body;   // JSON
};

// What a batch is made of.
struct DropTask {
  std::string id;
};
struct DropRun {
  std::string id;
};  // with its steps
struct DropConversation {
  std::string id;
};  // with its messages
struct DropIdempotencyBefore {
  std::int64_t created_ms = 0;
};
struct DropSession {
  std::string sid;
};
struct TrimAudit {
  std::int64_t before_ms = 0;
  std::int64_t keep_last = 0;
};  // drops what is older, and all but the newest
struct ReserveSeq {
  std::uint64_t end = 0;
};  // below 2^63; never lowers what is reserved
// At a clean stop: of what was reserved, nothing past `end` was used or will be. The next life can then begin where the clock
// says instead of past a block that nobody used, so that its numbers are its own even beside those of a restored backup.
struct ReleaseSeq {
  std::uint64_t end = 0;
};
using Op = std::variant<TaskRow, RunRow, StepRow, ConversationRow, MessageRow, IdempotencyRow, SessionRow, AuditRow,
                        InstanceRow, DropTask, DropRun, DropConversation, DropIdempotencyBefore, DropSession, TrimAudit,
                        ReserveSeq,
                        ReleaseSeq>;  // a row = put (insert or replace); an AuditRow is appended
using Batch = std::vector<Op>;

class Store {
 public:
  virtual ~Store() = default;  // applies what is queued, then stops the thread

  // `done` is called exactly once; it may be empty. An empty batch succeeds in its turn.
  virtual void commit(Batch batch, std::function<void(Status)> done) = 0;
  // Blocks until the batch is durable, at most 30 s (kTimeout: it may still become so). Never call it on the
  // store's own thread, that is, in a `done`.
  [[nodiscard]] Status commit_now(Batch batch);

  // Every task, in no order: the core's index. A task in a terminal state (TASK_STATE_COMPLETED, _FAILED,
  // _CANCELED, _REJECTED) comes without its body (empty), every other one with it.
  [[nodiscard]] virtual Result<std::vector<TaskRow>> tasks() const = 0;
  [[nodiscard]] virtual Result<std::optional<TaskRow>> task(const std::string& id) const = 0;
  // The same for runs; terminal are completed, failed, refused, cancelled and stalled.
  [[nodiscard]] virtual Result<std::vector<RunRow>> runs() const = 0;
  [[nodiscard]] virtual Result<std::optional<RunRow>> run(const std::string& id) const = 0;
  [[nodiscard]] virtual Result<std::vector<StepRow>> steps(const std::string& run) const = 0;  // by name
  [[nodiscard]] virtual Result<std::vector<ConversationRow>> conversations() const = 0;
  // The newest messages, oldest first: at most `limit` of them, and at most `bytes` of bodies unless the newest alone is longer.
  [[nodiscard]] virtual Result<std::vector<MessageRow>> messages(const std::string& conversation, std::size_t limit,
                                                                 std::size_t bytes) const = 0;
  [[nodiscard]] virtual Result<std::optional<IdempotencyRow>> idempotency(const std::string& principal,
                                                                          const std::string& key) const = 0;
  [[nodiscard]] virtual Result<std::vector<SessionRow>> sessions() const = 0;  // by sid
  // The newest `limit`, oldest first. Numbers grow, and none is used twice.
  [[nodiscard]] virtual Result<std::vector<AuditRow>> audit(std::size_t limit) const = 0;
  [[nodiscard]] virtual Result<std::string> instance() const = 0;        // its body; "" when none was put
  [[nodiscard]] virtual Result<std::uint64_t> reserved_seq() const = 0;  // 0 when nothing ever was

  [[nodiscard]] virtual std::string kind() const = 0;  // "sqlite" or "memory"
  [[nodiscard]] virtual bool degraded() const = 0;
};

// Opens or makes `<folder>/agentd.db`; the folder is made with mode 0700. Errors, all kUnavailable with one
// clear line: not writable, in use by another daemon (its pid named), corrupt, not ours, made by a newer
// version. Bodies of rows are kept as they are given: any bytes.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite(const std::string& folder);
[[nodiscard]] std::unique_ptr<Store> make_memory();

}  // namespace agentd::store
