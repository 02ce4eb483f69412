// The database file of the SQLite store: how it is opened, what is in it, and how its errors read.
//
// `PRAGMA user_version` holds the version of the schema and `application_id` says the file is ours. A file of an older
// version is brought up to date when it is opened; one of a newer version is refused, never touched. Nothing here throws.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

#include "base/result.h"

namespace agentd::store {

inline constexpr int kSchemaVersion = 4;

// Makes `file` with mode 0600 when it is missing. Call it before the first connection: it closes a descriptor
// of the file, which drops every lock that this process has on it. Errors: kUnavailable.
[[nodiscard]] Status make_private_file(const std::string& file);

// Opens `file` and gives it the schema when it is empty. The connection is in WAL mode, with
// synchronous=FULL, and is for one thread at a time. Errors: kUnavailable, one line that names the file.
[[nodiscard]] Result<SQLite::Database> open_database(const std::string& file);

// What failed with the file, and what to do when that is known. kUnavailable.
[[nodiscard]] Error storage_error(const std::string& file, const SQLite::Exception& exception);

// The rows of the batch are at fault, and not the disk: too big, or against a constraint.
[[nodiscard]] bool is_fault_of_batch(const SQLite::Exception& exception);
// Somebody else has the database locked: any other write would wait as long, and as much in vain.
[[nodiscard]] bool is_locked_out(const SQLite::Exception& exception);

}  // namespace agentd::store
