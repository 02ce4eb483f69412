#include "store/sqlite_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "store/terminal.h"

namespace agentd::store {
namespace {

// Ends the statement's use on every way out. Nothing stays open, and nothing is left bound to strings that
// are gone.
class Use final {
 public:
  explicit Use(SQLite::Statement& statement) : statement_(statement) {}
  ~Use() { statement_.tryReset(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  SQLite::Statement& statement_;
};

void bind_one(SQLite::Statement& statement, int index, const std::string& value) { statement.bindNoCopy(index, value); }
void bind_one(SQLite::Statement& statement, int index, std::int64_t value) { statement.bind(index, value); }

template <class... Values>
void bind_all(SQLite::Statement& statement, const Values&... values) {
  int index = 0;
  (bind_one(statement, ++index, values), ...);
}

template <class... Values>
void execute(SQLite::Statement& statement, const Values&... values) {
  const Use use(statement);
  bind_all(statement, values...);
  statement.exec();
}

// Every row that the statement gives for `values`, each through `make`.
template <class Make, class... Values>
auto query(SQLite::Statement& statement, Make make, const Values&... values) {
  const Use use(statement);
  bind_all(statement, values...);
  std::vector<decltype(make(statement))> rows;
  while (statement.executeStep()) rows.push_back(make(statement));
  return rows;
}

template <class Row>
std::optional<Row> first(std::vector<Row> rows) {
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

std::string text(SQLite::Statement& row, int column) { return row.getColumn(column).getString(); }
std::int64_t number(SQLite::Statement& row, int column) { return row.getColumn(column).getInt64(); }

TaskRow task_of(SQLite::Statement& row) {
  return {.id = text(row, 0),
          .principal = text(row, 1),
          .context = text(row, 2),
          .state = text(row, 3),
          .created_ms = number(row, 4),
          .status_ms = number(row, 5),
          .body = text(row, 6)};
}
RunRow run_of(SQLite::Statement& row) {
  return {.id = text(row, 0),
          .principal = text(row, 1),
          .status = text(row, 2),
          .created_ms = number(row, 3),
          .updated_ms = number(row, 4),
          .body = text(row, 5)};
}
StepRow step_of(SQLite::Statement& row) { return {.run = text(row, 0), .step = text(row, 1), .body = text(row, 2)}; }
ConversationRow conversation_of(SQLite::Statement& row) {
  return {.id = text(row, 0),
          .principal = text(row, 1),
          .context = text(row, 2),
          .updated_ms = number(row, 3),
          .body = text(row, 4)};
}
MessageRow message_of(SQLite::Statement& row) {
  return {.conversation = text(row, 0), .number = number(row, 1), .body = text(row, 2)};
}
IdempotencyRow idempotency_of(SQLite::Statement& row) {
  return {.principal = text(row, 0),
          .key = text(row, 1),
          .digest = text(row, 2),
          .task = text(row, 3),
          .created_ms = number(row, 4)};
}
SessionRow session_of(SQLite::Statement& row) {
  return {.sid = text(row, 0), .expires_ms = number(row, 1), .body = text(row, 2)};
}
AuditRow audit_of(SQLite::Statement& row) {
  return {.number = number(row, 0), .ts_ms = number(row, 1), .body = text(row, 2)};
}

// SQLite reads a negative limit as none.
std::int64_t limit_of(std::size_t limit) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int64_t>(std::min(limit, kMost));
}

// The body, or nothing where `column` says that the row is over.
template <class Names>
std::string body_of_live(const char* column, const Names& terminal) {
  const auto quoted = terminal | std::views::transform([](std::string_view name) { return fmt::format("'{}'", name); });
  return fmt::format("CASE WHEN {} IN ({}) THEN '' ELSE body END", column, fmt::join(quoted, ","));
}

std::string all_tasks() {
  return fmt::format("SELECT id, principal, context, state, created_ms, status_ms, {} FROM task",
                     body_of_live("state", kTerminalTaskStates));
}
std::string all_runs() {
  return fmt::format("SELECT id, principal, status, created_ms, updated_ms, {} FROM run",
                     body_of_live("status", kTerminalRunStatuses));
}

}  // namespace

SqliteWriter::SqliteWriter(SQLite::Database db)
    : db_(std::move(db)),
      begin_(db_, "BEGIN IMMEDIATE"),
      commit_(db_, "COMMIT"),
      rollback_(db_, "ROLLBACK"),
      task_(db_, "REPLACE INTO task VALUES(?,?,?,?,?,?,?)"),
      run_(db_, "REPLACE INTO run VALUES(?,?,?,?,?,?)"),
      step_(db_, "REPLACE INTO step VALUES(?,?,?)"),
      conversation_(db_, "REPLACE INTO conversation VALUES(?,?,?,?,?)"),
      message_(db_, "REPLACE INTO message VALUES(?,?,?)"),
      idempotency_(db_, "REPLACE INTO idempotency VALUES(?,?,?,?,?)"),
      session_(db_, "REPLACE INTO session VALUES(?,?,?)"),
      audit_(db_, "INSERT INTO audit(ts_ms, body) VALUES(?,?)"),
      instance_(db_, "REPLACE INTO instance VALUES(1,?)"),
      reserve_(db_,
               "INSERT INTO reserved VALUES(1,?) "
               "ON CONFLICT(only) DO UPDATE SET seq_end = max(seq_end, excluded.seq_end)"),
      release_(db_, "UPDATE reserved SET seq_end = min(seq_end, ?)"),
      drop_task_(db_, "DELETE FROM task WHERE id=?"),
      drop_run_(db_, "DELETE FROM run WHERE id=?"),
      drop_steps_(db_, "DELETE FROM step WHERE run=?"),
      drop_conversation_(db_, "DELETE FROM conversation WHERE id=?"),
      drop_messages_(db_, "DELETE FROM message WHERE conversation=?"),
      drop_idempotency_(db_, "DELETE FROM idempotency WHERE created_ms<?"),
      drop_session_(db_, "DELETE FROM session WHERE sid=?"),
      drop_audit_before_(db_, "DELETE FROM audit WHERE ts_ms<?"),
      drop_audit_beyond_(db_, "DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?") {}

void SqliteWriter::apply(const Batch* begin, const Batch* end) {
  execute(begin_);
  try {
    for (const Batch* batch = begin; batch != end; ++batch) {
      for (const Op& op : *batch) {
        std::visit([this](const auto& row) { put(row); }, op);
      }
    }
    execute(commit_);
  } catch (const SQLite::Exception&) {
    // SQLite may have rolled back by itself, as when the disk is full: then this fails, and that is well.
    rollback_.tryExecuteStep();
    rollback_.tryReset();
    throw;
  }
}

void SqliteWriter::put(const TaskRow& row) {
  execute(task_, row.id, row.principal, row.context, row.state, row.created_ms, row.status_ms, row.body);
}
void SqliteWriter::put(const RunRow& row) {
  execute(run_, row.id, row.principal, row.status, row.created_ms, row.updated_ms, row.body);
}
void SqliteWriter::put(const StepRow& row) { execute(step_, row.run, row.step, row.body); }
void SqliteWriter::put(const ConversationRow& row) {
  execute(conversation_, row.id, row.principal, row.context, row.updated_ms, row.body);
}
void SqliteWriter::put(const MessageRow& row) { execute(message_, row.conversation, row.number, row.body); }
void SqliteWriter::put(const IdempotencyRow& row) {
  execute(idempotency_, row.principal, row.key, row.digest, row.task, row.created_ms);
}
void SqliteWriter::put(const SessionRow& row) { execute(session_, row.sid, row.expires_ms, row.body); }
void SqliteWriter::put(const AuditRow& row) { execute(audit_, row.ts_ms, row.body); }
void SqliteWriter::put(const InstanceRow& row) { execute(instance_, row.body); }
void SqliteWriter::put(const DropTask& drop) { execute(drop_task_, drop.id); }
void SqliteWriter::put(const DropRun& drop) {
  execute(drop_run_, drop.id);
  execute(drop_steps_, drop.id);
}
void SqliteWriter::put(const DropConversation& drop) {
  execute(drop_conversation_, drop.id);
  execute(drop_messages_, drop.id);
}
void SqliteWriter::put(const DropIdempotencyBefore& drop) { execute(drop_idempotency_, drop.created_ms); }
void SqliteWriter::put(const DropSession& drop) { execute(drop_session_, drop.sid); }
void SqliteWriter::put(const TrimAudit& trim) {
  execute(drop_audit_before_, trim.before_ms);
  execute(drop_audit_beyond_, trim.keep_last);
}
void SqliteWriter::put(const ReleaseSeq& release) { execute(release_, static_cast<std::int64_t>(release.end)); }
void SqliteWriter::put(const ReserveSeq& reserve) { execute(reserve_, static_cast<std::int64_t>(reserve.end)); }

SqliteReader::SqliteReader(SQLite::Database db)
    : db_(std::move(db)),
      tasks_(db_, all_tasks()),
      task_(db_, "SELECT * FROM task WHERE id=?"),
      runs_(db_, all_runs()),
      run_(db_, "SELECT * FROM run WHERE id=?"),
      steps_(db_, "SELECT * FROM step WHERE run=? ORDER BY step"),
      conversations_(db_, "SELECT * FROM conversation ORDER BY id"),
      messages_(db_, "SELECT * FROM message WHERE conversation=? ORDER BY number DESC LIMIT ?"),
      idempotency_(db_, "SELECT * FROM idempotency WHERE principal=? AND key=?"),
      sessions_(db_, "SELECT * FROM session ORDER BY sid"),
      audit_(db_, "SELECT * FROM audit ORDER BY number DESC LIMIT ?"),
      instance_(db_, "SELECT body FROM instance"),
      reserved_(db_, "SELECT seq_end FROM reserved") {}

std::vector<TaskRow> SqliteReader::tasks() { return query(tasks_, task_of); }
std::optional<TaskRow> SqliteReader::task(const std::string& id) { return first(query(task_, task_of, id)); }
std::vector<RunRow> SqliteReader::runs() { return query(runs_, run_of); }
std::optional<RunRow> SqliteReader::run(const std::string& id) { return first(query(run_, run_of, id)); }
std::vector<StepRow> SqliteReader::steps(const std::string& run) { return query(steps_, step_of, run); }
std::vector<ConversationRow> SqliteReader::conversations() { return query(conversations_, conversation_of); }

std::vector<MessageRow> SqliteReader::messages(const std::string& conversation, std::size_t limit, std::size_t bytes) {
  const Use use(messages_);
  bind_all(messages_, conversation, limit_of(limit));
  std::vector<MessageRow> rows;
  while (messages_.executeStep()) {
    rows.push_back(message_of(messages_));
    const std::size_t size = rows.back().body.size();
    if (size > bytes && rows.size() > 1) {
      rows.pop_back();
      break;
    }
    bytes -= std::min(bytes, size);
  }
  std::ranges::reverse(rows);
  return rows;
}

std::optional<IdempotencyRow> SqliteReader::idempotency(const std::string& principal, const std::string& key) {
  return first(query(idempotency_, idempotency_of, principal, key));
}

std::vector<SessionRow> SqliteReader::sessions() { return query(sessions_, session_of); }

std::vector<AuditRow> SqliteReader::audit(std::size_t limit) {
  auto rows = query(audit_, audit_of, limit_of(limit));
  std::ranges::reverse(rows);
  return rows;
}

std::string SqliteReader::instance() {
  return first(query(instance_, [](SQLite::Statement& row) { return text(row, 0); })).value_or("");
}

std::uint64_t SqliteReader::reserved_seq() {
  const auto ends = query(reserved_, [](SQLite::Statement& row) { return number(row, 0); });
  return ends.empty() ? 0 : static_cast<std::uint64_t>(ends.front());
}

}  // namespace agentd::store
