#include "net/socket_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "net/listener.h"

namespace agentd::net {
namespace {

// Connected to the socket at `path`, or not.
Descriptor connect_to(const std::string& path) {
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

class UnixSocket : public testing::Test {
 protected:
  std::unique_ptr<Listener> open() {
    auto listener = Listener::open("unix://" + path_);
    EXPECT_TRUE(listener.has_value()) << listener.error().message;
    return std::move(*listener);
  }
  std::string refusal() {
    const auto listener = Listener::open("unix://" + path_);
    EXPECT_FALSE(listener.has_value());
    if (listener) return "";
    EXPECT_EQ(listener.error().code, Code::kUnavailable);
    EXPECT_NE(listener.error().message.find(path_), std::string::npos);
    return listener.error().message;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator{}));
  }

  const TemporaryFolder made_;
  const std::filesystem::path folder_ = made_.path();
  std::string path_ = folder_ / "a.sock";
};

TEST_F(UnixSocket, IsThereForThisUserAloneAndGoesWithItsListener) {
  const auto listener = open();
  struct stat there{};
  ASSERT_EQ(::lstat(path_.c_str(), &there), 0);
  EXPECT_TRUE(S_ISSOCK(there.st_mode));
  EXPECT_EQ(there.st_mode & 07777U, 0600U);
  EXPECT_EQ(files(), 1U);  // nothing is left of the staging
  EXPECT_EQ(listener->url(), "unix://" + path_);
  listener->close();
  EXPECT_EQ(files(), 0U);
}

TEST_F(UnixSocket, AppearsByARenameSoThatItIsNeverOpenToOthers) {
  const Descriptor watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), folder_.c_str(), IN_CREATE | IN_MOVED_TO | IN_ATTRIB), 0);
  const mode_t before = ::umask(0);
  const auto listener = open();
  ::umask(before);
  std::vector<std::string> seen;
  alignas(inotify_event) std::array<char, 4096> bytes;
  const auto count = ::read(watch.get(), bytes.data(), bytes.size());
  for (ssize_t at = 0; at < count;) {
    const auto* event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
    const std::string name(event->name);
    seen.push_back(fmt::format("{:#x} {}", event->mask, name.starts_with('.') ? "staging" : name));
    at += static_cast<ssize_t>(sizeof *event + event->len);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{fmt::format("{:#x} staging", IN_CREATE | IN_ISDIR),
                                            fmt::format("{:#x} a.sock", IN_MOVED_TO)}));
}

TEST_F(UnixSocket, KnowsItsPeer) {
  Loop loop;
  const auto listener = open();
  listener->start(loop, [&](const Descriptor&, const Peer& peer, const auto&) {
    EXPECT_EQ(peer.address, "unix");
    EXPECT_FALSE(peer.loopback);
    EXPECT_EQ(peer.uid, static_cast<long>(::geteuid()));
    loop.stop();
  });
  const Descriptor client = connect_to(path_);
  ASSERT_TRUE(client);
  loop.run();
}

TEST_F(UnixSocket, ReplacesAFileOnWhichNobodyListensAndNotOneInUse) {
  {
    auto left = SocketFile::listen(path_);
    ASSERT_TRUE(left.has_value()) << left.error().message;
    EXPECT_NE(refusal().find("in use"), std::string::npos);
    EXPECT_TRUE(connect_to(path_));
    left->fd.reset();
    const auto listener = open();
    left->file.remove();  // of the one that was replaced: no longer its own
    EXPECT_TRUE(connect_to(path_));
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(UnixSocket, IsOneOnlyOfTwoThatTakeAStaleNameAtOnce) {
  for (int round = 0; round < 100; ++round) {
    {
      auto left = SocketFile::listen(path_);
      ASSERT_TRUE(left.has_value()) << left.error().message;
      std::filesystem::rename(path_, folder_ / "left");
    }
    std::filesystem::rename(folder_ / "left", path_);
    std::barrier both(2);
    const auto take = [&] {
      both.arrive_and_wait();
      return SocketFile::listen(path_);
    };
    auto other = std::async(std::launch::async, take);
    const auto one = take();
    const auto two = other.get();
    ASSERT_NE(one.has_value(), two.has_value()) << "in round " << round;
    const std::string why = one ? two.error().message : one.error().message;
    EXPECT_NE(why.find("in use"), std::string::npos) << why;
    EXPECT_TRUE(connect_to(path_));
  }
}

TEST_F(UnixSocket, SaysThatItsFolderIsLockedRatherThanWaitForEver) {
  const Descriptor lock(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  EXPECT_NE(refusal().find("locked"), std::string::npos);
}

TEST_F(UnixSocket, LeavesAloneWhatIsNoSocket) {
  std::ofstream(path_) << "precious";
  EXPECT_NE(refusal().find("no socket"), std::string::npos);
  std::filesystem::remove(path_);
  const std::string target = folder_ / "target";
  std::ofstream(target) << "precious";
  std::filesystem::create_symlink(target, path_);
  EXPECT_NE(refusal().find("no socket"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(target), 8U);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_NE(refusal().find("no socket"), std::string::npos);
}

TEST_F(UnixSocket, SaysWhyThereCanBeNone) {
  path_ = folder_ / "missing" / "a.sock";
  EXPECT_NE(refusal().find("No such file or directory"), std::string::npos);
  path_ = folder_ / std::string(108, 'a');
  EXPECT_NE(refusal().find("too long"), std::string::npos);
  EXPECT_EQ(files(), 0U);
}

TEST_F(UnixSocket, ClosesAPeerOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  constexpr uid_t kNobody = 65534;
  Loop loop;
  const auto listener = open();
  // Neither would let the other user come so far.
  ::chmod(folder_.c_str(), 0755);
  ::chmod(path_.c_str(), 0666);
  bool served = false;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(kNobody) != 0) ::_exit(2);
    const Descriptor fd = connect_to(path_);
    char byte = 0;
    ::_exit(fd && ::recv(fd.get(), &byte, 1, 0) == 0 ? 0 : 1);
  }
  // Its end shows that the connection was closed; only then comes one that is served.
  Timer poll(loop);
  int status = -1;
  Descriptor client;
  const std::function<void()> look = [&] {
    if (::waitpid(child, &status, WNOHANG) == child) {
      EXPECT_FALSE(served);
      client = connect_to(path_);
    } else {
      poll.arm(5, look);
    }
  };
  listener->start(loop, [&](const Descriptor&, const Peer&, const auto&) {
    served = true;
    loop.stop();
  });
  poll.arm(0, look);
  loop.run();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace agentd::net
