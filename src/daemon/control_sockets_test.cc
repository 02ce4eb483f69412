#include "daemon/control_sockets.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/folders.h"
#include "base/ids.h"

namespace agentd::daemon {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

class ControlSockets : public testing::Test {
 protected:
  ControlSockets() { ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1); }
  ~ControlSockets() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(folder_);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("run" + random_hex(8));
};

TEST_F(ControlSockets, AreOnePerPortInAFolderOfTheUsersOwnAndGoWithTheirListeners) {
  {
    const auto sockets =
        open_control_sockets({"http://127.0.0.1:1", "http://[::1]:1", "https://127.0.0.1:2", "unix:///x"});
    ASSERT_EQ(sockets.size(), 2U);
    struct stat folder{};
    ASSERT_EQ(::stat((folder_ / "agentd").c_str(), &folder), 0);
    EXPECT_EQ(folder.st_mode & 07777U, 0700U);
    EXPECT_TRUE(fs::is_socket(control_socket("1")));
    EXPECT_TRUE(fs::is_socket(control_socket("2")));
  }
  EXPECT_FALSE(fs::exists(control_socket("1")));
}

TEST_F(ControlSockets, ThatOfALivingDaemonIsLeftToIt) {
  const auto first = open_control_sockets({"http://127.0.0.1:1"});
  EXPECT_TRUE(open_control_sockets({"http://127.0.0.1:1"}).empty());
  EXPECT_TRUE(fs::is_socket(control_socket("1")));
}

TEST_F(ControlSockets, WithoutAPlaceThereAreNone) {
  ::setenv("XDG_RUNTIME_DIR", "/proc/none", 1);
  EXPECT_TRUE(open_control_sockets({"http://127.0.0.1:1"}).empty());
  ::setenv("XDG_RUNTIME_DIR", (folder_ / std::string(100, 'x')).c_str(), 1);
  EXPECT_TRUE(open_control_sockets({"http://127.0.0.1:1"}).empty());
}

TEST(LocalOrigins, AreThoseThatALoopbackCallerReaches) {
  EXPECT_EQ(local_origins({"http://127.0.0.1:8420"}), (Strings{"http://localhost:8420", "http://127.0.0.1:8420"}));
  EXPECT_EQ(local_origins({"https://[::]:443", "unix:///x"}),
            (Strings{"https://localhost", "https://127.0.0.1", "https://[::1]"}));
  EXPECT_EQ(local_origins({"https://192.0.2.1:8420"}), Strings{});
}

}  // namespace
}  // namespace agentd::daemon
