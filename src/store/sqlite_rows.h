// SqliteWriter and SqliteReader: the statements of the SQLite store, prepared once and kept, one connection
// each.
//
// Each is for one thread at a time; both throw SQLite::Exception. A reader's method is one snapshot: it sees
// all that was committed before it began, and holds nothing open when it returns.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace agentd::store {

class SqliteWriter final {
 public:
  explicit SqliteWriter(SQLite::Database db);

  // All of the batches in one transaction, or none.
  void apply(const Batch* first, const Batch* last);

 private:
  void put(const TaskRow& row);
  void put(const RunRow& row);
  void put(const StepRow& row);
  void put(const ConversationRow& row);
  void put(const MessageRow& row);
  void put(const IdempotencyRow& row);
  void put(const SessionRow& row);
  void put(const AuditRow& row);
  void put(const InstanceRow& row);
  void put(const DropTask& drop);
  void put(const DropRun& drop);
  void put(const DropConversation& drop);
  void put(const DropIdempotencyBefore& drop);
  void put(const DropSession& drop);
  void put(const TrimAudit& trim);
  void put(const ReserveSeq& reserve);
  void put(const ReleaseSeq& release);

  SQLite::Database db_;
  SQLite::Statement begin_, commit_, rollback_;
  SQLite::Statement task_, run_, step_, conversation_, message_, idempotency_, session_, audit_, instance_, reserve_,
      release_;
  SQLite::Statement drop_task_, drop_run_, drop_steps_, drop_conversation_, drop_messages_, drop_idempotency_,
      drop_session_, drop_audit_before_, drop_audit_beyond_;
};

class SqliteReader final {
 public:
  explicit SqliteReader(SQLite::Database db);

  [[nodiscard]] std::vector<TaskRow> tasks();
  [[nodiscard]] std::optional<TaskRow> task(const std::string& id);
  [[nodiscard]] std::vector<RunRow> runs();
  [[nodiscard]] std::optional<RunRow> run(const std::string& id);
  [[nodiscard]] std::vector<StepRow> steps(const std::string& run);
  [[nodiscard]] std::vector<ConversationRow> conversations();
  [[nodiscard]] std::vector<MessageRow> messages(const std::string& conversation, std::size_t limit, std::size_t bytes);
  [[nodiscard]] std::optional<IdempotencyRow> idempotency(const std::string& principal, const std::string& key);
  [[nodiscard]] std::vector<SessionRow> sessions();
  [[nodiscard]] std::vector<AuditRow> audit(std::size_t limit);
  [[nodiscard]] std::string instance();
  [[nodiscard]] std::uint64_t reserved_seq();

 private:
  SQLite::Database db_;
  SQLite::Statement tasks_, task_, runs_, run_, steps_, conversations_, messages_, idempotency_, sessions_, audit_,
      instance_, reserved_;
};

}  // namespace agentd::store
