#include "net/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace agentd::net {
namespace {

// Two connected, non-blocking sockets.
struct Pair {
  Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0); }
  ~Pair() {
    ::close(fds[0]);
    ::close(fds[1]);
  }
  std::array<int, 2> fds{};
};

void put(int fd, std::string_view bytes) {
  ASSERT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

std::int64_t since_ms(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
}

TEST(Loop, RunsPostedWorkInOrderAndNeverInsideThePost) {
  Loop loop;
  std::string order;
  loop.post([&] {
    loop.post([&] {
      order += "c";
      loop.stop();
    });
    order += "a";
  });
  loop.post([&] { order += "b"; });
  EXPECT_EQ(order, "");
  loop.run();
  EXPECT_EQ(order, "abc");
}

TEST(Loop, StaysWithNothingToDoAndIsWokenByAnotherThread) {
  Loop loop;
  std::atomic<bool> inside = false;
  std::thread thread([&] { loop.run(); });
  loop.post([&] { inside = loop.in_loop_thread(); });
  loop.post([&] { loop.stop(); });
  thread.join();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(loop.in_loop_thread());
}

TEST(Loop, TakesPostsOfManyThreads) {
  Loop loop;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        loop.post([&] {
          if (++count == 4000) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(Loop, RunsAgainAfterAStop) {
  Loop loop;
  loop.stop();
  loop.run();
  bool ran = false;
  loop.post([&] {
    ran = true;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(ran);
}

TEST(Loop, DestroysWorkThatNeverRan) {
  const auto alive = std::make_shared<int>(0);
  {
    Loop loop;
    loop.post([alive] { FAIL(); });
    EXPECT_EQ(alive.use_count(), 2);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Loop, DoesNotWakeUpWhileIdle) {
  Loop loop;
  Timer watchdog(loop);
  Pair pair;
  Watch watch(loop, pair.fds[0]);
  watch.wait_readable([] { FAIL(); });
  rusage before{};
  watchdog.arm(300, [&] { loop.stop(); });
  ::getrusage(RUSAGE_SELF, &before);
  loop.run();
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  // Each sleep of the thread is one voluntary switch: one for the timer, a few for what surrounds it.
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 5);
}

TEST(Timer, FiresOnceAndNotTooEarly) {
  Loop loop;
  Timer timer(loop);
  int fired = 0;
  const auto start = std::chrono::steady_clock::now();
  timer.arm(30, [&] {
    ++fired;
    EXPECT_FALSE(timer.armed());
    loop.stop();
  });
  EXPECT_TRUE(timer.armed());
  loop.run();
  EXPECT_EQ(fired, 1);
  EXPECT_GE(since_ms(start), 30);
}

TEST(Timer, ArmingAgainReplaces) {
  Loop loop;
  Timer timer(loop);
  timer.arm(0, [] { FAIL() << "was replaced"; });
  timer.arm(1, [&] { loop.stop(); });
  loop.run();
}

TEST(Timer, MayBeArmedFromItsOwnCallback) {
  Loop loop;
  Timer timer(loop);
  int fired = 0;
  std::function<void()> tick = [&] {
    if (++fired == 3) return loop.stop();
    timer.arm(0, tick);
  };
  timer.arm(0, tick);
  loop.run();
  EXPECT_EQ(fired, 3);
}

TEST(Timer, IsSilentAfterCancelAndAfterDestruction) {
  Loop loop;
  Timer cancelled(loop);
  auto destroyed = std::make_unique<Timer>(loop);
  const auto fail = [] { FAIL(); };
  cancelled.arm(0, fail);
  destroyed->arm(0, fail);
  // Both have expired by the time they are cancelled.
  loop.post([&] {
    cancelled.cancel();
    destroyed.reset();
  });
  Timer end(loop);
  end.arm(10, [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(cancelled.armed());
}

TEST(Timer, TakesTheLongestTimes) {
  Loop loop;
  Timer never(loop);
  Timer end(loop);
  never.arm(INT64_MAX, [] { FAIL(); });
  end.arm(5, [&] { loop.stop(); });
  loop.run();
}

TEST(Watch, TellsOfBytesThatWereThereBefore) {
  Loop loop;
  Pair pair;
  Watch watch(loop, pair.fds[0]);
  put(pair.fds[1], "x");
  int times = 0;
  watch.wait_readable([&] {
    ++times;
    // Not read: still readable.
    watch.wait_readable([&] {
      ++times;
      loop.stop();
    });
  });
  loop.run();
  EXPECT_EQ(times, 2);
}

TEST(Watch, TellsOfThePeersEnd) {
  Loop loop;
  Pair pair;
  Watch watch(loop, pair.fds[0]);
  watch.wait_readable([&] { loop.stop(); });
  ::shutdown(pair.fds[1], SHUT_RDWR);
  loop.run();
  char byte = 0;
  EXPECT_EQ(::read(pair.fds[0], &byte, 1), 0);
}

TEST(Watch, WaitsForRoomToWrite) {
  Loop loop;
  Pair pair;
  const std::string block(65536, 'x');
  while (::write(pair.fds[0], block.data(), block.size()) > 0) {
  }
  Watch watch(loop, pair.fds[0]);
  bool emptied = false;
  watch.wait_writable([&] {
    EXPECT_TRUE(emptied);
    loop.stop();
  });
  loop.post([&] {
    emptied = true;
    std::string into(1U << 20U, '\0');
    while (::read(pair.fds[1], into.data(), into.size()) > 0) {
    }
  });
  loop.run();
}

TEST(Watch, IsSilentAfterCancelAndTakesTheNextCallback) {
  Loop loop;
  Pair pair;
  Watch watch(loop, pair.fds[0]);
  watch.wait_readable([] { FAIL() << "was cancelled"; });
  watch.cancel();
  watch.wait_readable([&] { loop.stop(); });
  put(pair.fds[1], "x");
  loop.run();
}

TEST(Watch, MayBeDestroyedInItsCallbackAndLeavesTheDescriptorOpen) {
  Loop loop;
  Pair pair;
  auto watch = std::make_unique<Watch>(loop, pair.fds[0]);
  watch->wait_writable([&] {
    watch.reset();
    loop.stop();
  });
  watch->wait_readable([] { FAIL(); });
  loop.run();
  EXPECT_NE(::fcntl(pair.fds[0], F_GETFD), -1);
}

TEST(Watch, MovesWithItsWait) {
  Loop loop;
  Pair one;
  Pair two;
  Watch watch(loop, one.fds[0]);
  watch.wait_readable([] { FAIL() << "was given up by the assignment"; });
  Watch other(loop, two.fds[0]);
  other.wait_readable([&] { loop.stop(); });
  watch = std::move(other);
  put(one.fds[1], "x");
  put(two.fds[1], "x");
  loop.run();
}

TEST(Signals, TellsOfEachUntilDestroyed) {
  Loop loop;
  int count = 0;
  std::unique_ptr<Signals> signals;
  signals = std::make_unique<Signals>(loop, std::vector{SIGUSR1, SIGUSR2}, [&](int number) {
    EXPECT_EQ(number, count == 0 ? SIGUSR1 : SIGUSR2);
    if (++count == 2) {
      signals.reset();
      loop.stop();
    } else {
      ::raise(SIGUSR2);
    }
  });
  loop.post([] { ::raise(SIGUSR1); });
  loop.run();
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace agentd::net
