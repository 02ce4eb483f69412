// What the tests of this folder share: a loop with children, run until a result is there.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/temporary_folder.h"
#include "net/loop.h"
#include "process/child.h"

namespace agentd::process {

inline constexpr std::int64_t kWatchdogMs = 30'000;

inline ChildSpec shell(const std::string& script) {
  ChildSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.env = base_environment();
  return spec;
}

// The state ("R", "S", "Z", …) and the parent of a process; empty and 0 when there is none.
struct ProcessState {
  std::string state;
  int parent = 0;
};
inline ProcessState state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  // A process that ends between open and read makes the read fail, which getline takes as an end.
  std::string text;
  std::getline(file, text, '\0');
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  ProcessState found;
  rest >> found.state >> found.parent;
  return found;
}
inline bool is_alive(int pid) {
  const std::string state = state_of(pid).state;
  return !state.empty() && state != "Z" && state != "X";
}

// Asks again until `condition` holds, at most `patience_ms`.
inline bool eventually(std::int64_t patience_ms, const std::function<bool()>& condition) {
  const SystemClock clock;
  const std::int64_t deadline = clock.mono_ms() + patience_ms;
  while (!condition()) {
    if (clock.mono_ms() > deadline) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

// A named pipe through which a command of a test says where it stands.
class Fifo final {
 public:
  Fifo() {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    fd_ = Descriptor(::open(path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  }
  [[nodiscard]] std::string path() const { return folder_.path() + "/fifo"; }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // The numbers of the line that was written, or none after the watchdog's time.
  [[nodiscard]] std::vector<int> numbers() const {
    pollfd ready{.fd = fd(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, static_cast<int>(kWatchdogMs));
    char text[256] = {};
    if (::read(fd(), text, sizeof text - 1) <= 0) return {};
    std::istringstream line(text);
    std::vector<int> found;
    for (int number = 0; line >> number;) found.push_back(number);
    return found;
  }

 private:
  TemporaryFolder folder_;
  Descriptor fd_;
};

class ChildrenTest : public testing::Test {
 protected:
  Children::Started spawn(ChildSpec spec) {
    auto started = children_->spawn(std::move(spec), [this](ChildResult result) {
      results_.push_back(std::move(result));
      if (results_.size() >= awaited_) loop_.stop();
    });
    EXPECT_TRUE(started) << started.error().message;
    return started.value_or(Children::Started{});
  }

  // Runs the loop until `count` results are there.
  void await(std::size_t count) {
    awaited_ = count;
    if (results_.size() >= count) return;
    net::Timer watchdog(loop_);
    watchdog.arm(kWatchdogMs, [this] { loop_.stop(); });
    loop_.run();
    ASSERT_EQ(results_.size(), count) << "no result in time";
  }

  ChildResult run(ChildSpec spec) {
    results_.clear();
    spawn(std::move(spec));
    await(1);
    return results_.empty() ? ChildResult{} : results_.front();
  }

  // Calls `then` on the loop once a line is in the pipe.
  void when_written(const Fifo& fifo, std::function<void()> then) {
    fifo_watch_.emplace(loop_, fifo.fd());
    fifo_watch_->wait_readable(std::move(then));
  }

  net::Loop loop_;
  std::unique_ptr<Children> children_ = std::make_unique<Children>(loop_);
  std::vector<ChildResult> results_;
  std::size_t awaited_ = 1;
  std::optional<net::Watch> fifo_watch_;
};

}  // namespace agentd::process
