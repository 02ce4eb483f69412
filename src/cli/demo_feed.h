// DemoFeed: the feed as the demo shows it: a follower on a thread of its own that writes each event as it
// comes.
//
// Until finish() only that thread writes to the console's output. The waits are ended by their deadline, by
// the end of the feed, and so by the console's stop.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/clock.h"
#include "cli/output.h"
#include "client/feed_reader.h"

namespace agentd::cli {

class DemoFeed final {
 public:
  // Starts to follow at once.
  DemoFeed(const client::Rpc& rpc, Console console, bool json);
  ~DemoFeed();
  DemoFeed(const DemoFeed&) = delete;
  DemoFeed& operator=(const DemoFeed&) = delete;

  [[nodiscard]] bool wait_for_hello(std::int64_t ms);
  // Until the task's last state has been shown, and nothing came after it for a moment.
  void wait_for_end_of(const std::string& task, std::int64_t ms);
  // Requests the console's stop, and waits for the thread. Idempotent.
  void finish();

 private:
  void follow();
  void take_frame(const Json& frame);

  const client::Rpc& rpc_;
  Console console_;
  bool json_;
  Style style_;
  const SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool connected_ = false;
  bool over_ = false;
  std::size_t frames_ = 0;
  std::set<std::string> ended_;  // tasks
  std::thread thread_;
};

}  // namespace agentd::cli
