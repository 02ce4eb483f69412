#include "store/sqlite_schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace agentd::store {
namespace {

constexpr int kApplicationId = 0x61676474;  // "agdt"
constexpr int kBusyTimeoutMs = 2'000;       // against a person with the sqlite3 shell; we ourselves never collide

// What each version adds to the one before.
constexpr const char* kVersions[kSchemaVersion] = {R"sql(
CREATE TABLE task(
  id TEXT PRIMARY KEY NOT NULL, principal TEXT NOT NULL, context TEXT NOT NULL, state TEXT NOT NULL,
  created_ms INTEGER NOT NULL, status_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE run(
  id TEXT PRIMARY KEY NOT NULL, principal TEXT NOT NULL, status TEXT NOT NULL,
  created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE step(
  run TEXT NOT NULL, step TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY(run, step)) STRICT;
CREATE TABLE conversation(
  id TEXT PRIMARY KEY NOT NULL, principal TEXT NOT NULL, context TEXT NOT NULL,
  updated_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE message(
  conversation TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY(conversation, number)) STRICT;
CREATE TABLE idempotency(
  principal TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, task TEXT NOT NULL,
  created_ms INTEGER NOT NULL, PRIMARY KEY(principal, key)) STRICT;
CREATE INDEX idempotency_by_age ON idempotency(created_ms);
CREATE TABLE reserved(
  only INTEGER PRIMARY KEY CHECK (only = 1), seq_end INTEGER NOT NULL) STRICT;
)sql",
                                                   R"sql(
CREATE TABLE session(
  sid TEXT PRIMARY KEY NOT NULL, expires_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
)sql",
                                                   R"sql(
CREATE TABLE audit(
  number INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, ts_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE INDEX audit_by_age ON audit(ts_ms);
)sql",
                                                   R"sql(
CREATE TABLE instance(
  only INTEGER PRIMARY KEY CHECK (only = 1), body TEXT NOT NULL) STRICT;
)sql"};

int pragma(SQLite::Database& db, const char* name) { return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt(); }

// Reads the header and the whole schema: what is not a database of ours fails here, before anything is
// written.
Status check_version(SQLite::Database& db, const std::string& file) {
  const bool empty = db.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  const int version = pragma(db, "user_version");
  const int application = pragma(db, "application_id");
  if (empty && version == 0 && application == 0) return {};
  if (application != kApplicationId) {
    return fail(Code::kUnavailable, fmt::format("{} is a database, but not one of agentd's; move it away", file));
  }
  if (version > kSchemaVersion) {
    return fail(Code::kUnavailable,
                fmt::format("{} was made by a newer agentd (its schema is version {}, this one knows {}); start the "
                            "newer agentd, or restore an older backup",
                            file, version, kSchemaVersion));
  }
  return {};
}

void bring_up_to_date(SQLite::Database& db) {
  const int version = pragma(db, "user_version");
  if (version == kSchemaVersion) return;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  for (int next = version; next < kSchemaVersion; ++next) db.exec(kVersions[next]);
  db.exec(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kSchemaVersion));
  transaction.commit();
}

}  // namespace

Status make_private_file(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(Code::kUnavailable, fmt::format("cannot open {} for writing: {}", file, std::strerror(errno)));
  }
  ::fchmod(fd, 0600);  // one restored from a backup may be readable by others
  ::close(fd);
  return {};
}

Result<SQLite::Database> open_database(const std::string& file) try {
  SQLite::Database db(file, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, kBusyTimeoutMs);
  sqlite3_extended_result_codes(db.getHandle(), 1);
  if (auto fits = check_version(db, file); !fits) return std::unexpected(fits.error());
  db.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864");
  bring_up_to_date(db);
  return db;
} catch (const SQLite::Exception& exception) {
  return std::unexpected(storage_error(file, exception));
}

Error storage_error(const std::string& file, const SQLite::Exception& exception) {
  std::string advice;
  switch (exception.getErrorCode() & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      advice = "; the file is corrupt: restore it from a backup, or move it away to start empty";
      break;
    case SQLITE_FULL: advice = "; make room on the disk"; break;
    case SQLITE_BUSY: advice = "; another program holds the database locked"; break;
    default: break;
  }
  return {.code = Code::kUnavailable, .message = fmt::format("{}: {}{}", file, exception.what(), advice)};
}

bool is_fault_of_batch(const SQLite::Exception& exception) {
  const int code = exception.getErrorCode() & 0xff;
  return code == SQLITE_TOOBIG || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH;
}

bool is_locked_out(const SQLite::Exception& exception) {
  const int code = exception.getErrorCode() & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

}  // namespace agentd::store
