#include "cli/daemon_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/json.h"
#include "cli/fields.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kTail = 4096;
constexpr std::size_t kMaxUnread = 1U << 20U;

std::int64_t now_ms() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::vector<std::string> environment_for(const DaemonSpec& spec) {
  std::vector<std::string> lines;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line = *at;
    const auto name = line.substr(0, line.find('='));
    const bool given = std::ranges::find(spec.environment, name, &std::pair<std::string, std::string>::first) !=
                       spec.environment.end();
    if (!given && !name.starts_with("AGENTD_")) lines.emplace_back(line);
  }
  for (const auto& [name, value] : spec.environment) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& lines) {
  std::vector<char*> pointers;
  for (auto& line : lines) pointers.push_back(line.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: only what is safe there. Does not return.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment, int output,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);  // it died before the kernel was told
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execve(program, arguments, environment);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<DaemonChild>> DaemonChild::start(const DaemonSpec& spec) {
  std::vector<std::string> words = {"agentd"};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  auto lines = environment_for(spec);
  const auto arguments = pointers_to(words);
  const auto environment = pointers_to(lines);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Code::kInternal, fmt::format("no pipe: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(spec.program.c_str(), arguments.data(), environment.data(), ends[1], parent);
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    return fail(Code::kInternal, fmt::format("no process: {}", std::strerror(errno)));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<DaemonChild>(new DaemonChild(pid, ends[0]));
}

DaemonChild::~DaemonChild() {
  stop();
  ::close(output_);
}

// False when there is nothing more to read, or `stop` or the deadline (-1 = none) came.
bool DaemonChild::read_some(const client::Stop& stop, std::int64_t deadline_ms) {
  const std::int64_t left = deadline_ms < 0 ? -1 : std::max<std::int64_t>(deadline_ms - now_ms(), 0);
  pollfd slots[] = {{.fd = output_, .events = POLLIN, .revents = 0}, {.fd = stop.fd(), .events = POLLIN, .revents = 0}};
  const int ready = ::poll(slots, 2, static_cast<int>(left));
  if (ready < 0) return errno == EINTR;
  if (slots[0].revents == 0) return false;
  char buffer[4096];
  const auto got = ::read(output_, buffer, sizeof buffer);
  if (got <= 0) return false;
  const std::string_view bytes(buffer, static_cast<std::size_t>(got));
  unread_ += bytes;
  const std::lock_guard lock(mutex_);
  tail_ += bytes;
  if (tail_.size() > kTail) tail_.erase(0, tail_.size() - kTail);
  return true;
}

// The url of the next "listening" line among the whole lines, or "".
std::string DaemonChild::take_url() {
  for (auto end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
    const auto line = parse_json(std::string_view(unread_).substr(0, end));
    unread_.erase(0, end + 1);
    if (line && text_of(*line, "msg") == "listening") return text_of(*line, "url");
  }
  if (unread_.size() > kMaxUnread) unread_.clear();
  return {};
}

Result<std::string> DaemonChild::wait_until_listening(std::int64_t deadline_ms, const client::Stop& stop) {
  const std::int64_t until = now_ms() + deadline_ms;
  while (read_some(stop, until)) {
    std::string url = take_url();
    if (url.empty()) continue;
    drain_ = std::thread([this] {
      while (read_some(done_, -1)) unread_.clear();
    });
    return url;
  }
  if (stop.requested()) return fail(Code::kTimeout, "interrupted");
  const bool late = now_ms() >= until;
  return fail(late ? Code::kTimeout : Code::kUnavailable,
              late ? "the daemon that was started does not listen" : "the daemon that was started has ended");
}

bool DaemonChild::wait_for_exit(std::int64_t ms) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) return ::waitpid(pid_, nullptr, WNOHANG) == pid_;
  pollfd slot{.fd = handle, .events = POLLIN, .revents = 0};
  const std::int64_t until = now_ms() + ms;
  int ready = 0;
  do {
    ready = ::poll(&slot, 1, static_cast<int>(std::max<std::int64_t>(until - now_ms(), 0)));
  } while (ready < 0 && errno == EINTR);
  ::close(handle);
  return ready > 0 && ::waitpid(pid_, nullptr, 0) == pid_;
}

bool DaemonChild::stop(std::int64_t grace_ms) {
  if (pid_ < 0) return true;
  ::kill(pid_, SIGTERM);
  const bool gentle = wait_for_exit(grace_ms);
  if (!gentle) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // when it has not yet made its group
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
  done_.request();
  if (drain_.joinable()) drain_.join();
  return gentle;
}

std::string DaemonChild::last_words() {
  const std::lock_guard lock(mutex_);
  return tail_;
}

}  // namespace agentd::cli
