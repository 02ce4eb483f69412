#include "cli/demo.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/answer.h"
#include "cli/daemon_child.h"
#include "cli/demo_feed.h"
#include "cli/exit.h"
#include "cli/fields.h"
#include "cli/message.h"
#include "cli/printable.h"
#include "embedded/repo_report.h"

namespace agentd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kListenMs = 10'000;
constexpr std::int64_t kHelloMs = 5'000;
constexpr std::int64_t kRunMs = 120'000;
constexpr std::int64_t kLastEventMs = 2'000;
constexpr const char* kWorkflow = "repo-report";

constexpr std::string_view kTryNext = R"(
Try next:
  agentd serve          a daemon of your own, on http://127.0.0.1:8420
  agentd events         watch everything it does, from another terminal
  agentd send "hello"   ask it something
)";

// A folder under TMPDIR that only we may enter, gone with this object unless it is kept.
class TemporaryFolder final {
 public:
  static Result<TemporaryFolder> make() {
    const char* base = std::getenv("TMPDIR");
    std::string path = fmt::format("{}/agentd-demo-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
    if (::mkdtemp(path.data()) == nullptr)
      return fail(Code::kInternal, fmt::format("no folder like {} can be made", path));
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

bool is_in_repository(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder;; at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored)) return true;
    if (at == at.root_path()) return false;
  }
}

Status write_examples(const std::string& folder) {
  for (const auto& file : embedded::repo_report::kFiles) {
    std::ofstream out(fmt::format("{}/{}", folder, file.name), std::ios::binary);
    out << file.content;
    out.close();
    if (!out) return fail(Code::kInternal, fmt::format("cannot write {}/{}", folder, file.name));
  }
  return {};
}

// The artifacts that were written to be read; the command's own result only if there are none.
std::string report_of(const std::vector<Json>& artifacts) {
  std::string report;
  std::string data;
  for (const auto& artifact : artifacts) {
    const Json& parts = member(artifact, "parts");
    (has_text(parts) ? report : data) += readable(parts);
  }
  return report.empty() ? data : report;
}

class Demo final {
 public:
  Demo(const DemoOptions& options, Console console, std::string subject, const std::string& folder)
      : options_(options), console_(console), subject_(std::move(subject)), folder_(folder) {}

  int run(const std::string& program) {
    auto child = DaemonChild::start({.program = program,
                                     .arguments = {"serve", "-c", folder_ + "/agentd.yaml"},
                                     .environment = {{"AGENTD_A2A_LISTEN", "http://127.0.0.1:0"},
                                                     {"AGENTD_STORE_PATH", folder_ + "/state"},
                                                     {"XDG_RUNTIME_DIR", folder_ + "/run"},
                                                     {"AGENTD_LOG_FORMAT", "json"}}});
    if (!child) return report(child.error(), {}, console_);
    const int code = run_with(**child);
    if (!(*child)->stop()) note("the daemon did not stop by itself and was killed");
    return code;
  }

 private:
  int run_with(DaemonChild& child) {
    const auto url = child.wait_until_listening(kListenMs, console_.stop);
    interrupted_ = console_.stop.requested();
    if (!url) return give_up(url.error(), child);
    note(fmt::format("a daemon of the demo's own at {}, its state in {}", *url, folder_));
    const client::Rpc rpc({.url = *url}, console_.stop);
    DemoFeed feed(rpc, console_, options_.json);
    Answer answer;
    Status done = fail(Code::kTimeout, "the feed did not begin");
    if (feed.wait_for_hello(kHelloMs)) done = run_workflow(rpc, answer);
    if (done) feed.wait_for_end_of(answer.task_id(), kLastEventMs);
    interrupted_ = console_.stop.requested();  // by Ctrl-C: finish() is about to do the same
    feed.finish();
    if (!done || interrupted_) return give_up(done ? Error{} : done.error(), child);
    return show_report(answer);
  }

  Status run_workflow(const client::Rpc& rpc, Answer& answer) {
    Json message = workflow_message(kWorkflow, {{"dir", subject_}});
    message["contextId"] = "root";
    const auto end = rpc.stream({.method = "SendStreamingMessage",
                                 .params = {{"message", std::move(message)}},
                                 .extensions = {client::kCommandUri},
                                 .deadlines = {.total_ms = kRunMs}},
                                {.result = [&](const Json& result) {
                                  answer.take(result);
                                  return !answer.is_settled();
                                }});
    if (!end) return std::unexpected(end.error());
    return answer.is_settled() ? Status() : fail(Code::kUnavailable, "the connection was cut within the run");
  }

  int show_report(const Answer& answer) {
    const std::string text = report_of(answer.artifacts());
    if (options_.json) {
      console_.out.line(dump_json({{"report", {{"state", answer.state()}, {"text", text}}}}));
    } else {
      console_.out.text("\n" + (console_.out.is_terminal() ? many_lines(text) : text));
      if (!text.ends_with('\n')) console_.out.text("\n");
    }
    if (answer.state() != "COMPLETED") {
      note("the run ended " + answer.state());
      return kTaskFailed;
    }
    if (!options_.json) console_.out.text(kTryNext);
    return kOk;
  }

  int give_up(const Error& error, DaemonChild& child) {
    if (interrupted_) return kInterrupted;
    console_.err.text(many_lines(child.last_words()));
    note(error.message);
    return kFailure;
  }

  void note(const std::string& line) { console_.err.line("agentd: " + one_line(line)); }

  const DemoOptions& options_;
  Console console_;
  std::string subject_;
  const std::string& folder_;
  bool interrupted_ = false;
};

}  // namespace

int run_demo(const DemoOptions& options, Console console, const std::string& program) {
  std::error_code problem;
  const fs::path subject = fs::canonical(options.folder, problem);
  if (problem || !fs::is_directory(subject, problem)) {
    console.err.line(fmt::format("agentd: demo: {} is not a folder", one_line(options.folder)));
    return kUsage;
  }
  if (!is_in_repository(subject)) {
    console.err.line(fmt::format("agentd: {} is not a git repository; the report is on the folder alone",
                                 one_line(subject.string())));
  }
  auto folder = TemporaryFolder::make();
  if (!folder) return report(folder.error(), {}, console);
  if (const auto written = write_examples(folder->path()); !written) return report(written.error(), {}, console);
  const int code = Demo(options, console, subject.string(), folder->path()).run(program);
  if (options.keep) {
    console.err.line(fmt::format("agentd: kept {0}: agentd serve -c {0}/agentd.yaml", folder->path()));
    folder->keep();
  }
  return code;
}

}  // namespace agentd::cli
