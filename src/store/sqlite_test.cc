// What only a store on a disk can promise: survival, its lock, and clear words about a file that is no good.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/temporary_folder.h"
#include "store/sqlite_schema.h"
#include "store/store.h"

namespace agentd::store {
namespace {

namespace fs = std::filesystem;

TaskRow live_task(const std::string& id, std::string body = "{}") {
  return {.id = id,
          .principal = "ada",
          .context = "c1",
          .state = "TASK_STATE_WORKING",
          .created_ms = 1,
          .status_ms = 1,
          .body = std::move(body)};
}

std::unique_ptr<Store> must_open(const std::string& folder) {
  auto opened = open_sqlite(folder);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

// The message of an open that must fail.
std::string refusal(const std::string& folder) {
  const auto opened = open_sqlite(folder);
  EXPECT_FALSE(opened);
  if (opened) return "";
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  return opened.error().message;
}

void expect_in(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

void run_sql(const std::string& file, const char* sql) {
  SQLite::Database db(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  db.exec(sql);
}

unsigned mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

// A file of this process cannot grow past `bytes` while this lives: what a full disk looks like.
class FullDisk final {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(Sqlite, KeepsEverythingAcrossAReopen) {
  const TemporaryFolder folder;
  const ConversationRow conversation{.id = "v1", .principal = "ada", .context = "c", .updated_ms = 1, .body = "v"};
  {
    const auto store = must_open(folder.path());
    ASSERT_TRUE(store->commit_now({live_task("t1"), RunRow{"r1", "ada", "running", 1, 2, "r"}, StepRow{"r1", "a", "s"},
                                   conversation, MessageRow{"v1", 1, "m"}, IdempotencyRow{"p", "k", "d", "t1", 1},
                                   ReserveSeq{77}}));
  }
  const auto store = must_open(folder.path());
  EXPECT_EQ(store->tasks().value(), std::vector{live_task("t1")});
  EXPECT_TRUE(store->run("r1").value());
  EXPECT_EQ(store->steps("r1")->size(), 1U);
  EXPECT_EQ(store->conversations().value(), std::vector{conversation});
  EXPECT_EQ(store->messages("v1", 5, 1U << 20U)->size(), 1U);
  EXPECT_TRUE(store->idempotency("p", "k").value());
  EXPECT_EQ(store->reserved_seq().value(), 77U);
}

TEST(Sqlite, MakesItsFolderAndFilesForTheOwnerOnly) {
  const TemporaryFolder folder;
  const auto store = must_open(folder.path() + "/new/deep/");
  ASSERT_TRUE(store->commit_now({live_task("t1")}));
  EXPECT_EQ(mode_of(folder.path() + "/new"), 0700U);
  EXPECT_EQ(mode_of(folder.path() + "/new/deep"), 0700U);
  for (const auto& entry : fs::directory_iterator(folder.path() + "/new/deep")) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
  }
}

TEST(Sqlite, NarrowsAFileThatOthersCouldRead) {
  const TemporaryFolder folder;
  must_open(folder.path()).reset();
  fs::permissions(folder.path() + "/agentd.db", fs::perms(0644));
  must_open(folder.path()).reset();
  EXPECT_EQ(mode_of(folder.path() + "/agentd.db"), 0600U);
}

// Commits 1, 2, 3, … and writes each number to `pipe` once it is acknowledged, until it is killed.
[[noreturn]] void commit_forever(const std::string& folder, int pipe) {
  auto store = open_sqlite(folder);
  if (!store) ::_exit(1);
  for (int number = 1;; ++number) {
    Batch batch{live_task(std::to_string(number)), MessageRow{"v1", number, std::string(500, 'm')}};
    (*store)->commit(std::move(batch), [number, pipe](const Status& status) {
      if (!status || ::write(pipe, &number, sizeof number) != sizeof number) ::_exit(1);
    });
    if (number % 64 == 0 && !(*store)->commit_now({})) ::_exit(1);
  }
}

TEST(Sqlite, HasEverythingAcknowledgedAfterAKill) {
  const TemporaryFolder folder;
  for (int round = 1; round <= 4; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) commit_forever(folder.path(), ends[1]);
    ::close(ends[1]);
    int acknowledged = 0;
    for (int number = 0; acknowledged < 300 * round && ::read(ends[0], &number, sizeof number) == sizeof number;) {
      acknowledged = number;
    }
    ::kill(child, SIGKILL);
    for (int number = 0; ::read(ends[0], &number, sizeof number) == sizeof number;) acknowledged = number;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";
    ASSERT_GE(acknowledged, 300 * round);

    const auto store = must_open(folder.path());
    for (int number = 1; number <= acknowledged; ++number) {
      ASSERT_TRUE(store->task(std::to_string(number)).value()) << number << " of " << acknowledged;
    }
    // A batch is there with all of its rows or with none.
    EXPECT_EQ(store->tasks()->size(), store->messages("v1", 1'000'000, 1U << 20U)->size());
  }
}

TEST(Sqlite, IsOpenOnceAtATimeAndNamesTheHolder) {
  const TemporaryFolder folder;
  auto store = must_open(folder.path());
  const std::string message = refusal(folder.path());
  expect_in(message, folder.path() + " is in use by agentd with pid " + std::to_string(::getpid()) + ";");
  store.reset();
  EXPECT_NE(must_open(folder.path()), nullptr);
}

TEST(Sqlite, SaysWhenItsFolderCannotBe) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/file") << "not a folder";
  expect_in(refusal(folder.path() + "/file/store"), "cannot make the folder " + folder.path() + "/file/store");
  expect_in(refusal(folder.path() + "/file"), "cannot write to the folder " + folder.path() + "/file");
}

TEST(Sqlite, SaysWhenItsFolderCannotBeWritten) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const pid_t child = ::fork();
  if (child == 0) {  // root may write anywhere; nobody may not
    if (::getuid() == 0 && ::setuid(65'534) != 0) ::_exit(2);
    const auto opened = open_sqlite(folder.path());
    ::_exit(!opened && opened.error().message.starts_with("cannot write to the folder " + folder.path()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Sqlite, RefusesAFileThatIsNoDatabase) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/agentd.db") << std::string(8'192, 'x');
  const std::string message = refusal(folder.path());
  expect_in(message, folder.path() + "/agentd.db");
  expect_in(message, "restore it from a backup, or move it away");
  EXPECT_EQ(fs::file_size(folder.path() + "/agentd.db"), 8'192U);
}

TEST(Sqlite, RefusesAFileThatWasCutShort) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/agentd.db";
  {
    const auto store = must_open(folder.path());
    ASSERT_TRUE(store->commit_now({live_task("t1", std::string(100'000, 'x'))}));
  }
  fs::resize_file(file, fs::file_size(file) / 2);
  expect_in(refusal(folder.path()), "the file is corrupt");
}

TEST(Sqlite, NamesTheFileWhenAReadMeetsCorruption) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/agentd.db";
  {
    const auto store = must_open(folder.path());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(store->commit_now({live_task(std::to_string(i), std::string(300, 'x'))}));
  }
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4'096);  // the first page is the schema; all others go
    bytes << std::string(fs::file_size(file) - 4'096, '\x7f');
  }
  const auto store = must_open(folder.path());
  const auto tasks = store->tasks();
  ASSERT_FALSE(tasks);
  expect_in(tasks.error().message, file);
  expect_in(tasks.error().message, "the file is corrupt");
}

TEST(Sqlite, RefusesWhatANewerVersionMade) {
  const TemporaryFolder folder;
  must_open(folder.path()).reset();
  run_sql(folder.path() + "/agentd.db", "PRAGMA user_version=99");
  expect_in(refusal(folder.path()), "made by a newer agentd (its schema is version 99, this one knows 4)");
}

TEST(Sqlite, BringsAnOlderVersionUpToDateAndKeepsWhatItHolds) {
  const TemporaryFolder folder;
  ASSERT_TRUE(must_open(folder.path())->commit_now({live_task("kept")}));
  run_sql(folder.path() + "/agentd.db",
          "DROP TABLE session; DROP TABLE audit; DROP TABLE instance; PRAGMA user_version=1");
  const auto store = must_open(folder.path());
  EXPECT_TRUE(store->task("kept").value());
  const SessionRow session{.sid = "ds_1", .expires_ms = 7, .body = "b"};
  ASSERT_TRUE(store->commit_now({session, AuditRow{.ts_ms = 8, .body = "a"}}));
  EXPECT_EQ(store->sessions().value(), std::vector{session});
  EXPECT_EQ(store->audit(9).value(), (std::vector<AuditRow>{{.number = 1, .ts_ms = 8, .body = "a"}}));
}

TEST(Sqlite, RefusesADatabaseOfSomebodyElse) {
  const TemporaryFolder folder;
  run_sql(folder.path() + "/agentd.db", "CREATE TABLE theirs(x)");
  expect_in(refusal(folder.path()), "not one of agentd's");
}

TEST(Sqlite, IsDegradedWhileTheDiskIsFullAndRecovers) {
  const TemporaryFolder folder;
  const auto store = must_open(folder.path());
  ASSERT_TRUE(store->commit_now({live_task("before")}));
  const std::string big(1U << 20U, 'x');
  {
    const FullDisk disk(512U << 10U);
    const Status full = store->commit_now({live_task("during"), live_task("big", big)});
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Code::kUnavailable);
    expect_in(full.error().message, folder.path());
    EXPECT_TRUE(store->degraded());
    EXPECT_FALSE(store->task("during").value());  // none of the batch
    EXPECT_TRUE(store->task("before").value());   // reads go on
  }
  ASSERT_TRUE(store->commit_now({live_task("big", big)}));
  EXPECT_FALSE(store->degraded());
  EXPECT_EQ(store->task("big").value()->body.size(), big.size());
  EXPECT_TRUE(store->task("before").value());
}

TEST(Sqlite, FailsABadBatchAloneAmongThoseOfItsGroup) {
  const TemporaryFolder folder;
  const auto store = must_open(folder.path());
  const FullDisk disk(512U << 10U);
  std::promise<void> entered, release;
  store->commit({}, [&](const Status&) {  // holds the store's thread, so that the next three become one group
    entered.set_value();
    release.get_future().wait();
  });
  entered.get_future().wait();
  std::vector<bool> good;
  const auto note = [&](const Status& status) { good.push_back(status.has_value()); };
  store->commit({live_task("a")}, note);
  store->commit({live_task("b"), live_task("big", std::string(1U << 20U, 'x'))}, note);
  store->commit({live_task("c")}, note);
  release.set_value();
  ASSERT_TRUE(store->commit_now({}));
  EXPECT_EQ(good, (std::vector{true, false, true}));
  EXPECT_TRUE(store->task("a").value());
  EXPECT_FALSE(store->task("b").value());
  EXPECT_TRUE(store->task("c").value());
}

TEST(Sqlite, WritesWithFullSyncInWalMode) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/agentd.db";
  auto db = open_database(file);  // missing, and not made here
  EXPECT_FALSE(db);
  ASSERT_TRUE(make_private_file(file));
  db = open_database(file);
  ASSERT_TRUE(db) << db.error().message;
  EXPECT_EQ(db->execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(db->execAndGet("PRAGMA synchronous").getInt(), 2);
}

}  // namespace
}  // namespace agentd::store
