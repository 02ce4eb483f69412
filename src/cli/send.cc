#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/backoff.h"
#include "base/clock.h"
#include "cli/answer.h"
#include "cli/artifacts.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/message.h"
#include "cli/printable.h"
#include "client/launch.h"
#include "client/rpc.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kMaxStdin = 1'500'000;  // the daemon takes 2 MiB of JSON
constexpr int kMaxAttempts = 8;               // to find a task again after cuts without progress
constexpr std::int64_t kSilenceMs = 37'500;   // 2.5 keep-alives

Result<std::string> read_stdin(const client::Stop& stop) {
  std::string text;
  char buffer[16'384];
  for (;;) {
    pollfd slots[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                      {.fd = stop.fd(), .events = POLLIN, .revents = 0}};
    if (::poll(slots, 2, -1) < 0 && errno != EINTR) return fail(Code::kConfig, "stdin cannot be read");
    if (slots[1].revents != 0) return fail(Code::kConfig, "interrupted");
    if (slots[0].revents == 0) continue;
    const auto got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0) return fail(Code::kConfig, "stdin cannot be read");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMaxStdin) return fail(Code::kConfig, fmt::format("stdin is longer than {} bytes", kMaxStdin));
  }
}

// One message and its task, followed to its end over cuts of the connection.
class Sending final {
 public:
  Sending(const SendOptions& options, const client::Endpoint& endpoint, Console console)
      : options_(options),
        console_(console),
        rpc_(endpoint, console.stop),
        until_ms_(clock_.mono_ms() + options.timeout_ms) {}

  Status run(Json params) {
    client::Call call{.method = "SendMessage", .params = std::move(params)};
    if (!options_.workflow.empty()) call.extensions.push_back(client::kCommandUri);
    if (options_.wait && options_.stream) {
      call.method = "SendStreamingMessage";
      return follow(std::move(call));
    }
    return ask(std::move(call));
  }

  int finish() {
    show(answer_.finish());
    if (!options_.out.empty()) {
      const auto paths = write_artifacts(answer_.artifacts(), options_.out);
      if (!paths) return report(paths.error(), rpc_.endpoint(), console_);
      for (const auto& path : *paths) note("wrote " + path);
    }
    if (!options_.wait && !options_.json && !answer_.task_id().empty()) console_.out.line(one_line(answer_.task_id()));
    if (answer_.state() == "AUTH_REQUIRED") {
      note(fmt::format("it goes on when somebody has signed in; without: agentd send --task {} cancel",
                       answer_.task_id()));
    } else if (is_interrupted(answer_.state())) {
      note(fmt::format("it waits for you: agentd send --task {} TEXT", answer_.task_id()));
    }
    return is_terminal(answer_.state()) && answer_.state() != "COMPLETED" ? kTaskFailed : kOk;
  }

  // What is known of a task that goes on without us.
  void say_where_it_is() {
    if (answer_.task_id().empty() || answer_.is_settled()) return;
    note(fmt::format("the task goes on: agentd tasks show {}", answer_.task_id()));
  }

 private:
  Status ask(client::Call call) {
    call.deadlines = {.silence_ms = 0, .total_ms = time_left()};
    const auto result = rpc_.call(call);
    if (!result) return std::unexpected(result.error());
    take(*result);
    return {};
  }

  Status follow(client::Call call) {
    Backoff backoff;
    for (int attempt = 1;; ++attempt) {
      const std::size_t before = taken_;
      call.deadlines = {.silence_ms = kSilenceMs, .total_ms = time_left()};
      const auto end = rpc_.stream(call, {.result = [this](const Json& result) {
                                     take(result);
                                     return !answer_.is_settled();
                                   }});
      if (answer_.is_settled()) return {};
      if (console_.stop.requested()) return fail(Code::kTimeout, "interrupted");
      if (!end && end.error().code == Code::kUnsupportedOperation && taken_ > 0) return read_ended_task();
      if (!end && !is_passing(end.error())) return std::unexpected(end.error());
      if (answer_.task_id().empty()) {
        return end ? fail(Code::kUnavailable,
                          "the connection was cut before a task was named; 'agentd tasks' shows whether "
                          "there is one")
                   : Status(std::unexpected(end.error()));
      }
      if (taken_ > before + 1) attempt = 1;  // more than the snapshot came: that is progress
      if (attempt >= kMaxAttempts || time_left() <= 1)
        return fail(Code::kTimeout, "the task was not followed to its end");
      const std::int64_t delay = backoff.next_ms();
      note(fmt::format("the connection was cut; trying again in {:.1f} s", static_cast<double>(delay) / 1000));
      if (console_.stop.wait_ms(delay)) return fail(Code::kTimeout, "interrupted");
      call = {.method = "SubscribeToTask", .params = {{"id", answer_.task_id()}}};
    }
  }

  // The task ended while we were away: there is nothing to subscribe to any more.
  Status read_ended_task() {
    const auto task = rpc_.call({.method = "GetTask", .params = {{"id", answer_.task_id()}}});
    if (!task) return std::unexpected(task.error());
    take({{"task", *task}});
    return {};
  }

  static bool is_passing(const Error& error) {
    return error.code == Code::kUnavailable || error.code == Code::kTimeout || error.code == Code::kRateLimited;
  }

  void take(const Json& response) {
    ++taken_;
    const auto shown = answer_.take(response);
    if (options_.json) console_.out.line(dump_json(response));
    show(shown);
  }

  void show(const Answer::Shown& shown) {
    for (const auto& line : shown.notes) note(line);
    if (options_.json) return;
    // Into a pipe or a file the agent's bytes go as they are.
    console_.out.text(console_.out.is_terminal() ? many_lines(shown.text) : shown.text);
  }

  void note(const std::string& line) { console_.err.line("agentd: " + one_line(line)); }

  [[nodiscard]] std::int64_t time_left() const { return std::max<std::int64_t>(until_ms_ - clock_.mono_ms(), 1); }

  const SendOptions& options_;
  Console console_;
  const SystemClock clock_;
  client::Rpc rpc_;
  std::int64_t until_ms_;
  Answer answer_;
  std::size_t taken_ = 0;  // responses
};

}  // namespace

int run_send(const SendOptions& options, Console console) {
  const auto text = options.text == "-" ? read_stdin(console.stop) : Result<std::string>(options.text);
  if (!text) return report(text.error(), {}, console);
  auto params = send_params(options, *text);
  if (!params) return report(params.error(), {}, console);
  const auto endpoint = client::endpoint_of(options.daemon, console.credentials, console.stop);
  if (!endpoint) return report(endpoint.error(), {}, console);
  Sending sending(options, *endpoint, console);
  const auto sent = sending.run(std::move(*params));
  if (sent) return sending.finish();
  sending.say_where_it_is();
  return report(sent.error(), *endpoint, console);
}

}  // namespace agentd::cli
