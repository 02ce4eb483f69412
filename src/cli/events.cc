#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/printable.h"
#include "cli/render.h"
#include "client/feed_reader.h"
#include "client/launch.h"

namespace agentd::cli {
namespace {

constexpr int kReadAgain = 100;                // tasks, the newest
constexpr std::int64_t kReadAgainMs = 10'000;  // the stream waits meanwhile

// What the feed reader reports, written down for a person or as JSON lines.
class FeedLog final {
 public:
  FeedLog(const EventsOptions& options, Console console, const client::Rpc& rpc)
      : options_(options), console_(console), rpc_(rpc), style_(console.out.style()) {}

  void frame(const Json& frame) {
    const Json& event = member(frame, "event");
    if (event.is_object() && !is_wanted(event)) return;
    if (options_.json) {
      console_.out.line(dump_json(frame));
    } else if (event.is_object()) {
      console_.out.line(render_event(event, style_));
    }
    if (const Json& hello = member(frame, "hello"); hello.is_object()) say_hello(hello);
    if (console_.out.broken()) console_.stop.request();
  }

  void resync() {
    console_.err.line(
        "agentd: events were lost: the feed has moved past the place to resume from; reading the tasks "
        "again");
    const auto list = rpc_.call({.method = "ListTasks",
                                 .params = {{"pageSize", kReadAgain}, {"historyLength", 1}},
                                 .deadlines = {.silence_ms = kReadAgainMs, .total_ms = kReadAgainMs}});
    if (!list) {
      console_.err.text(explain(list.error(), rpc_.endpoint()));
      return;
    }
    show_state(member(*list, "tasks"));
  }

  void retry(std::string_view why, std::int64_t delay_ms) {
    console_.err.line(
        fmt::format("agentd: {}; trying again in {:.1f} s", one_line(why), static_cast<double>(delay_ms) / 1000));
  }

 private:
  [[nodiscard]] bool is_wanted(const Json& event) const {
    return options_.kinds.empty() || std::ranges::find(options_.kinds, text_of(event, "kind")) != options_.kinds.end();
  }

  void say_hello(const Json& hello) {
    if (connected_ && flag_of(hello, "resync")) {
      console_.err.line("agentd: connected again");
    } else if (connected_) {
      console_.err.line(fmt::format("agentd: connected again, resumed after {}", count_of(hello, "resume")));
    } else {
      console_.err.line(fmt::format("agentd: connected to {} (agentd {}), the newest event is {}",
                                    one_line(options_.daemon.url), one_line(text_of(hello, "version")),
                                    count_of(hello, "seq")));
    }
    connected_ = true;
  }

  void show_state(const Json& tasks) {
    if (options_.json) {
      console_.out.line(dump_json({{"resync", {{"tasks", tasks}}}}));
      return;
    }
    if (!tasks.is_array()) return;
    for (const auto& task : tasks) console_.out.line(render_current(task, style_));
  }

  const EventsOptions& options_;
  Console console_;
  const client::Rpc& rpc_;
  Style style_;
  bool connected_ = false;
};

}  // namespace

int run_events(const EventsOptions& options, Console console) {
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  const client::Rpc rpc(*endpoint, console.stop);
  const SystemClock clock;
  FeedLog log(options, console, rpc);
  const client::FeedSink sink{.frame = [&](const Json& frame) { log.frame(frame); },
                              .resync = [&] { log.resync(); },
                              .retry = [&](std::string_view why, std::int64_t ms) { log.retry(why, ms); }};
  client::FeedReader reader(rpc, console.stop, clock, {.from = options.from}, sink);
  const auto end = reader.run();
  if (!end) return report(end.error(), *endpoint, console);
  if (*end == client::FeedEnd::kRevoked) {
    return report({.code = Code::kUnauthenticated, .message = "the session was revoked"}, *endpoint, console);
  }
  return kOk;
}

}  // namespace agentd::cli
