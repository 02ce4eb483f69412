// The hard line: nothing that a child started is alive 2 s after the child's end or the daemon's.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "process/child_fixture.h"

namespace agentd::process {
namespace {

using End = ChildResult::End;
constexpr std::int64_t kLineMs = 2'000;

bool all_dead(const std::vector<int>& pids) { return std::ranges::none_of(pids, is_alive); }

// Starts `sleep 1000` in a session of its own, by a double fork; its pid is in $escaped once it is out there.
constexpr const char* kEscape = "escaped=$(setsid sh -c 'echo $$; exec >/dev/null 2>&1; exec sleep 1000' &); ";

TEST_F(ChildrenTest, TakeAlongWhoLeftTheSession) {
  const ChildResult result = run(shell(std::string(kEscape) + "echo $escaped; cut -d' ' -f6 /proc/$escaped/stat"));
  std::istringstream out(result.out);
  int escaped = 0, session = 0;
  out >> escaped >> session;
  ASSERT_GT(escaped, 0);
  ASSERT_EQ(session, escaped);  // it had left indeed
  EXPECT_FALSE(is_alive(escaped));
  EXPECT_TRUE(state_of(escaped).state.empty()) << "not reaped";
}

TEST_F(ChildrenTest, DoNotWaitForAnOutputThatIsLeakedToADescendant) {
  const ChildResult result = run(shell("setsid sleep 1000 & (sleep 1000 &) ; echo hello"));
  EXPECT_EQ(result.end, End::kExited);
  EXPECT_EQ(result.out, "hello\n");
}

// How many live processes have `mark` in their environment.
std::size_t count_marked(const std::string& mark) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "environ");
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (environment.find(mark) != std::string::npos) ++count;
  }
  return count;
}

TEST_F(ChildrenTest, TakeAlongAWholeTree) {
  // Six levels, on each two processes that left for a session of their own and one that did not.
  ChildSpec spec = shell(
      "tree() { if [ $1 -gt 0 ]; then tree $(($1 - 1)) & setsid sh -c 'sleep 1000 & sleep 1000' & fi; sleep "
      "1000; }; "
      "tree 6");
  const std::string mark = "AGENTD_TEST_TREE=" + std::to_string(::getpid());
  spec.env.emplace_back("AGENTD_TEST_TREE", std::to_string(::getpid()));
  const auto started = spawn(std::move(spec));
  ASSERT_TRUE(eventually(kWatchdogMs, [&] { return count_marked(mark) >= 6 * 4; }));
  children_->cancel(started.id);
  await(1);
  EXPECT_EQ(results_.front().code, SIGTERM);
  EXPECT_EQ(count_marked(mark), 0U);
}

TEST_F(ChildrenTest, TakeAlongWhoIsAlwaysElsewhere) {
  // Each process lives only until it has started the next, in another session; all of them tell their pid.
  const Fifo fifo;
  ChildSpec spec = shell("hop='echo $$ >" + fifo.path() +
                         "; setsid sh -c \"$hop\" & exit'; export hop; sh -c \"$hop\"; exec sleep 1000");
  const std::string mark = "AGENTD_TEST_HOP=" + std::to_string(::getpid());
  spec.env.emplace_back("AGENTD_TEST_HOP", std::to_string(::getpid()));
  const auto started = spawn(std::move(spec));
  std::size_t hops = 0;
  while (hops < 10) {
    const std::size_t told = fifo.numbers().size();
    ASSERT_GT(told, 0U);
    hops += told;
  }
  children_->cancel(started.id);
  await(1);
  EXPECT_EQ(count_marked(mark), 0U);
}

TEST_F(ChildrenTest, TakeAlongWhoIgnoresSigterm) {
  const Fifo fifo;
  const auto started =
      spawn(shell(std::string("trap '' TERM; ") + kEscape + "(trap '' TERM; sleep 1000) & echo $escaped $! >" +
                  fifo.path() + "; exec sleep 1000"));
  std::vector<int> pids;
  when_written(fifo, [&] {
    pids = fifo.numbers();
    children_->cancel(started.id);
  });
  await(1);
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_TRUE(all_dead(pids));
}

TEST_F(ChildrenTest, ReapTheOrphansOfALongChildAsTheyDie) {
  const Fifo fifo;
  const auto started =
      spawn(shell("for i in 1 2 3 4 5; do (true &) ; done; echo 1 >" + fifo.path() + "; exec sleep 1000"));
  ASSERT_FALSE(fifo.numbers().empty());
  const std::string supervisor = std::to_string(state_of(started.pid).parent);
  EXPECT_TRUE(eventually(5'000, [&] {
    std::ifstream list("/proc/" + supervisor + "/task/" + supervisor + "/children");
    const std::vector<int> below(std::istream_iterator<int>(list), {});
    return below == std::vector{started.pid};
  }));
  children_->cancel(started.id);
  await(1);
}

TEST_F(ChildrenTest, DieWithTheObjectThatStartedThem) {
  const Fifo fifo;
  const auto started = spawn(shell(std::string(kEscape) + "echo $escaped $$ >" + fifo.path() + "; exec sleep 1000"));
  std::vector<int> pids = fifo.numbers();
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_EQ(pids[1], started.pid);
  pids.push_back(state_of(started.pid).parent);
  children_.reset();
  EXPECT_TRUE(eventually(kLineMs, [&] { return all_dead(pids); }));
  EXPECT_TRUE(results_.empty());
}

TEST_F(ChildrenTest, DieWithASupervisorThatIsKilled) {
  const Fifo fifo;
  const auto started =
      spawn(shell(std::string(kEscape) + "sleep 1000 & echo $escaped $! $$ >" + fifo.path() + "; wait"));
  const std::vector<int> pids = fifo.numbers();
  ASSERT_EQ(pids.size(), 3U);
  ASSERT_EQ(::kill(state_of(started.pid).parent, SIGKILL), 0);
  await(1);
  EXPECT_EQ(results_.front().end, End::kSignalled);
  EXPECT_EQ(results_.front().reason, "its supervisor was killed");
  EXPECT_TRUE(eventually(kLineMs, [&] { return all_dead(pids); }));
}

TEST_F(ChildrenTest, OutliveTheNurseryAndItIsMadeAgain) {
  const Fifo fifo;
  const auto started = spawn(shell("read go <" + fifo.path() + "; echo went"));
  const int nursery = state_of(state_of(started.pid).parent).parent;
  ASSERT_EQ(state_of(nursery).parent, ::getpid());
  ASSERT_EQ(::kill(nursery, SIGKILL), 0);
  ASSERT_TRUE(eventually(5'000, [&] { return !is_alive(nursery); }));
  spawn(shell("echo new"));
  await(1);
  EXPECT_EQ(results_.back().out, "new\n");
  ASSERT_EQ(::write(fifo.fd(), "go\n", 3), 3);
  await(2);
  EXPECT_EQ(results_.back().out, "went\n");
}

// A daemon with a child that tells `fifo` the pids of itself, a background process and one that left the
// session.
[[noreturn]] void be_daemon(const Fifo& fifo) {
  net::Loop loop;
  Children children(loop);
  const auto started = children.spawn(
      shell(std::string("trap '' TERM; ") + kEscape + "sleep 1000 & echo $$ $! $escaped >" + fifo.path() + "; wait"),
      [](const ChildResult&) { ::_exit(1); });
  if (!started) ::_exit(1);
  loop.run();
  ::_exit(0);
}

TEST(Daemon, TakesAllItsDescendantsAlongWhenItIsKilled) {
  ::prctl(PR_SET_CHILD_SUBREAPER,
          1);  // what the daemon leaves behind comes to us, and is not hidden by a reaper
  const Fifo fifo;
  const pid_t daemon = ::fork();
  if (daemon == 0) be_daemon(fifo);
  std::vector<int> pids = fifo.numbers();
  ASSERT_EQ(pids.size(), 3U);
  const int supervisor = state_of(pids[0]).parent;
  const int nursery = state_of(supervisor).parent;
  ASSERT_EQ(state_of(nursery).parent, daemon);
  pids.insert(pids.end(), {supervisor, nursery});
  for (const int pid : pids) ASSERT_TRUE(is_alive(pid)) << pid;

  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  ASSERT_EQ(::waitpid(daemon, nullptr, 0), daemon);
  EXPECT_TRUE(eventually(kLineMs, [&] { return all_dead(pids); }));
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(Daemon, TakesThemAlongWhenItsNurseryWentFirst) {
  const Fifo fifo;
  const pid_t daemon = ::fork();
  if (daemon == 0) be_daemon(fifo);
  const std::vector<int> pids = fifo.numbers();
  ASSERT_EQ(pids.size(), 3U);
  ASSERT_EQ(::kill(state_of(state_of(pids[0]).parent).parent, SIGKILL), 0);
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  ASSERT_EQ(::waitpid(daemon, nullptr, 0), daemon);
  EXPECT_TRUE(eventually(kLineMs, [&] { return all_dead(pids); }));
}

}  // namespace
}  // namespace agentd::process
