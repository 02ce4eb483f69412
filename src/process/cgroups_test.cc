#include "process/cgroups.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/temporary_folder.h"
#include "process/child_fixture.h"

namespace agentd::process {
namespace {

std::string read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

// A folder that looks like a group, but in which nothing is enforced.
class CgroupsTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path() + name; }
  [[nodiscard]] Result<Cgroups> set_up(const ChildLimits& limits, const std::string& controllers) const {
    write(path("/cgroup.controllers"), controllers);
    return Cgroups::set_up(folder_.path(), limits);
  }

  TemporaryFolder folder_;
};

TEST_F(CgroupsTest, AChildHasAGroupWithItsBounds) {
  std::filesystem::create_directory(path("/child-7"));
  const auto groups = set_up({.memory = 64U << 20U, .processes = 10, .cpu = 1.5}, "cpuset cpu io memory pids\n");
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_FALSE(std::filesystem::exists(path("/child-7"))) << "it is of an earlier life";
  EXPECT_EQ(read(path("/daemon/cgroup.procs")), "0");
  EXPECT_TRUE(read(path("/cgroup.subtree_control")).starts_with("+cpu"));
  ASSERT_TRUE(groups->make(1));
  EXPECT_EQ(read(path("/child-1/memory.max")), "67108864");
  EXPECT_EQ(read(path("/child-1/memory.oom.group")), "1");
  EXPECT_EQ(read(path("/child-1/pids.max")), "10");
  EXPECT_EQ(read(path("/child-1/cpu.max")), "150000 100000");
  EXPECT_FALSE(std::filesystem::exists(path("/child-1/memory.swap.max")));
}

TEST_F(CgroupsTest, WhatIsNotBoundIsNotTouched) {
  const auto groups = set_up({.processes = 10}, "pids\n");
  ASSERT_TRUE(groups);
  ASSERT_TRUE(groups->make(1));
  EXPECT_FALSE(std::filesystem::exists(path("/child-1/memory.max")));
  EXPECT_FALSE(std::filesystem::exists(path("/child-1/cpu.max")));
}

TEST_F(CgroupsTest, TellsWhenMemoryRanOut) {
  const auto groups = set_up({.memory = 64U << 20U}, "memory");
  ASSERT_TRUE(groups);
  ASSERT_TRUE(groups->make(1) && groups->make(2));
  write(path("/child-1/memory.events"), "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\n");
  write(path("/child-2/memory.events"), "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n");
  EXPECT_EQ(groups->end(1), "killed for want of memory: children.memory is 67108864 bytes");
  EXPECT_EQ(groups->end(2), std::nullopt);
}

TEST_F(CgroupsTest, SaysWhichControllerIsMissing) {
  const auto groups = set_up({.memory = 1, .processes = 1}, "cpu pids\n");
  ASSERT_FALSE(groups);
  EXPECT_NE(groups.error().message.find("no controller for memory"), std::string::npos) << groups.error().message;
  EXPECT_NE(groups.error().message.find("Delegate=yes"), std::string::npos);
}

// In a real group, where this machine lets us make one; without controllers, which need not be there.
int enter_and_leave(const std::string& own) {
  const std::string folder = own + "/agentd-test-" + std::to_string(::getpid());
  if (::mkdir(folder.c_str(), 0755) != 0) return 2;
  const auto groups = Cgroups::set_up(folder, {});
  const auto group = groups ? groups->make(1) : std::unexpected(groups.error());
  if (!group) return 3;
  if (!read("/proc/self/cgroup").contains("/daemon")) return 4;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool entered = ::write(group->get(), "0", 1) == 1;
    ::_exit(entered && read("/proc/self/cgroup").contains("/child-1") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) return 5;
  static_cast<void>(groups->end(1));
  if (std::filesystem::exists(folder + "/child-1")) return 6;
  write(own + "/cgroup.procs", "0");
  ::rmdir((folder + "/daemon").c_str());
  return ::rmdir(folder.c_str()) == 0 ? 0 : 7;
}

TEST(CgroupsOfTheMachine, AChildEntersItsGroupAndItIsGoneAfterwards) {
  const auto own = Cgroups::own_folder();
  if (!own || ::access(own->c_str(), W_OK) != 0) GTEST_SKIP() << "no group of cgroup v2 that may be written to";
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(enter_and_leave(*own));
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no group may be made in " << *own;
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST(CgroupsOfTheMachine, ChildrenWorkWhetherTheyCanBeLimitedOrNot) {
  net::Loop loop;
  Children children(loop, {.processes = 100});
  std::optional<ChildResult> result;
  ASSERT_TRUE(children.spawn(shell("echo here"), [&](ChildResult end) {
    result = std::move(end);
    loop.stop();
  }));
  loop.run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "here\n");
}

}  // namespace
}  // namespace agentd::process
