#include "http/deadlines.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace agentd::http {
namespace {

class DeadlinesTest : public testing::Test {
 protected:
  net::Loop loop;
  SystemClock clock;
  Deadlines deadlines{loop, clock};
};

TEST_F(DeadlinesTest, AreMissedInTheOrderOfTheirTimes) {
  std::string order;
  Deadline late(deadlines, [&] {
    order += "late";
    loop.stop();
  });
  Deadline early(deadlines, [&] { order += "early "; });
  late.set(30);
  early.set(5);
  loop.run();
  EXPECT_EQ(order, "early late");
}

TEST_F(DeadlinesTest, MoveLaterAndEarlierAndAreCleared) {
  Deadline end(deadlines, [&] { loop.stop(); });
  Deadline moved_later(deadlines, [] { FAIL(); });
  Deadline moved_earlier(deadlines, [&] { end.set(1); });
  Deadline cleared(deadlines, [] { FAIL(); });
  auto destroyed = std::make_unique<Deadline>(deadlines, [] { FAIL(); });
  moved_later.set(5);
  moved_later.set(100'000);
  moved_earlier.set(100'000);
  moved_earlier.set(20);
  cleared.set(5);
  cleared.clear();
  destroyed->set(5);
  destroyed.reset();
  loop.run();
}

TEST_F(DeadlinesTest, MayBeSetAgainAndDestroyedByTheirCallbacks) {
  int missed = 0;
  std::unique_ptr<Deadline> other = std::make_unique<Deadline>(deadlines, [] { FAIL(); });
  std::unique_ptr<Deadline> deadline;
  deadline = std::make_unique<Deadline>(deadlines, [&] {
    other.reset();
    if (++missed == 3) return loop.stop();
    deadline->set(1);
  });
  deadline->set(1);
  other->set(50);
  loop.run();
  EXPECT_EQ(missed, 3);
}

TEST_F(DeadlinesTest, AreNeverEarlyAndLateByASixteenthAtMost) {
  const auto start = clock.mono_ms();
  Deadline deadline(deadlines, [&] { loop.stop(); });
  deadline.set(160);
  loop.run();
  EXPECT_GE(clock.mono_ms() - start, 160);
}

}  // namespace
}  // namespace agentd::http
