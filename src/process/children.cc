#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "process/capture.h"
#include "process/child.h"
#include "process/lines.h"
#include "process/nursery.h"
#include "process/protocol.h"

namespace agentd::process {
namespace {

constexpr std::size_t kErrCap = 64U << 10U;
constexpr std::size_t kLineCap = 16U << 20U;
constexpr std::size_t kWaitingCap = 8U << 20U;  // of what a child has not read
constexpr std::size_t kTurnReads = 4;           // of 64 KiB for one output in one turn of the loop
constexpr std::size_t kLastReads = 64;          // when all writers are dead: more than a pipe holds
constexpr std::int64_t kStartMs = 2'000;        // for the first word of a supervisor
constexpr std::int64_t kFarewellMs = 3'000;

std::unexpected<Error> no_process(int error) {
  return fail(Code::kUnavailable, fmt::format("cannot start a process: {}", std::strerror(error)));
}

struct Pipe {
  Descriptor ours, theirs;
};

// `ours` is non-blocking and becomes the write end for kInput.
enum class Direction : std::uint8_t { kInput, kOutput };
bool make_pipe(Direction direction, Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const bool input = direction == Direction::kInput;
  pipe = {.ours = Descriptor(ends[input ? 1 : 0]), .theirs = Descriptor(ends[input ? 0 : 1])};
  return ::fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

struct Channels {
  Pipe in, out, err, control;
};

Result<Channels> make_channels() {
  Channels made;
  int control[2];
  if (!make_pipe(Direction::kInput, made.in) || !make_pipe(Direction::kOutput, made.out) ||
      !make_pipe(Direction::kOutput, made.err) ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return no_process(errno);
  }
  made.control = {.ours = Descriptor(control[0]), .theirs = Descriptor(control[1])};
  return made;
}

// Why no process can be made of the spec at all, or "".
std::string flaw_of(const ChildSpec& spec) {
  if (spec.argv.empty()) return "no command is given";
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  for (const std::string& arg : spec.argv) {
    if (has_nul(arg)) return fmt::format("{}: an argument holds a NUL byte", spec.argv.front().c_str());
  }
  for (const auto& [name, value] : spec.env) {
    if (has_nul(name) || has_nul(value)) return "the environment holds a NUL byte";
  }
  return has_nul(spec.cwd) ? "the working folder holds a NUL byte" : "";
}

std::string failure_text(const Report& report, const std::string& program, const std::string& cwd) {
  if (report.kind == Report::Kind::kNoGroup) {
    return fmt::format("cannot enter its control group: {}", std::strerror(report.value));
  }
  if (report.kind == Report::Kind::kNoFolder) {
    return fmt::format("cannot enter the folder {}: {}", cwd, std::strerror(report.value));
  }
  if (report.value == ENOENT || report.value == ENOTDIR) return fmt::format("{}: not found", program);
  if (report.value == EACCES) return fmt::format("{}: permission denied", program);
  return fmt::format("{}: {}", program, std::strerror(report.value));
}

std::string duration_text(std::int64_t ms) {
  return ms % 1'000 == 0 ? fmt::format("{} s", ms / 1'000) : fmt::format("{} ms", ms);
}

// The first report, which the supervisor or the nursery sends within a millisecond unless the machine is in
// trouble.
Result<int> await_pid(int control) {
  pollfd ready{.fd = control, .events = POLLIN, .revents = 0};
  const SystemClock clock;
  const std::int64_t deadline = clock.mono_ms() + kStartMs;
  int count = 0;
  do {
    count = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(deadline - clock.mono_ms(), 0)));
  } while (count < 0 && errno == EINTR);
  if (count == 0) return no_process(ETIMEDOUT);
  Report report{};
  const ssize_t size = ::recv(control, &report, sizeof report, MSG_DONTWAIT);
  if (size == 0) return no_process(EAGAIN);  // the nursery was out of descriptors, or killed
  if (size < 0) return no_process(errno);
  if (report.kind == Report::Kind::kNoProcess) return no_process(report.value);
  return report.value;
}

// One child, from its start to its result. Its watches call back only while it lives.
class Child final {
 public:
  // `over` is called once, when all below the supervisor are dead; it may destroy the child.
  Child(net::Loop& loop, ChildSpec spec, Channels channels, std::string flaw, std::function<void()> over)
      : spec_(std::move(spec)),
        failure_(std::move(flaw)),
        over_(std::move(over)),
        waiting_(std::move(spec_.input)),
        is_open_(spec_.on_line != nullptr),
        in_(std::move(channels.in.ours)),
        out_{.fd = std::move(channels.out.ours), .kept = Capture(spec_.output_cap, Capture::Keep::kFirst), .watch = {}},
        err_{.fd = std::move(channels.err.ours), .kept = Capture(kErrCap, Capture::Keep::kLast), .watch = {}},
        control_(std::move(channels.control.ours)),
        in_watch_(std::in_place, loop, in_.get()),
        control_watch_(loop, control_.get()),
        timeout_(loop) {
    for (Output* output : {&out_, &err_}) output->watch.emplace(loop, output->fd.get());
    if (spec_.on_line) out_.lines.emplace(kLineCap, spec_.on_line);
    if (spec_.on_err_line) err_.lines.emplace(kLineCap, spec_.on_err_line);
  }

  void begin() {
    in_watch_->wait_writable([this] { feed(); });
    for (Output* output : {&out_, &err_}) listen(*output);
    control_watch_.wait_readable([this] { hear(); });
    if (spec_.timeout_ms > 0) timeout_.arm(spec_.timeout_ms, [this] { terminate(ChildResult::End::kTimedOut); });
  }

  void terminate(ChildResult::End why) {
    if (ordered_) return;
    ordered_ = why;
    ::send(control_.get(), &kTerminate, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  bool write(std::string_view bytes) {
    if (!in_watch_ || !is_open_ || waiting_.size() - written_ + bytes.size() > kWaitingCap) return false;
    const bool idle = waiting_.empty();
    if (written_ > waiting_.size() / 2) waiting_.erase(0, std::exchange(written_, 0));  // what was read need not stay
    waiting_ += bytes;
    if (idle) feed();
    return true;
  }

  void close_input() {
    is_open_ = false;
    if (in_watch_ && waiting_.empty()) feed();
  }

  // For the destructor of Children: nothing is called back any more.
  int hang_up() {
    ::shutdown(control_.get(), SHUT_WR);
    return control_.get();
  }

  // What became of it; once, after `over`.
  [[nodiscard]] ChildResult result() {
    for (Output* output : {&out_, &err_}) {
      read_some(*output, kLastReads);
      if (output->lines) output->lines->finish();
    }
    ChildResult result;
    result.out = out_.kept.take();
    result.err = err_.kept.take();
    result.out_dropped = out_.lines ? out_.lines->dropped() : out_.kept.dropped();
    result.err_dropped = err_.kept.dropped();
    result.code = WIFSIGNALED(status_) ? WTERMSIG(status_) : WEXITSTATUS(status_);
    explain(result);
    return result;
  }

 private:
  struct Output {
    Descriptor fd;
    Capture kept;
    std::optional<net::Watch> watch;
    std::optional<Lines> lines = {};  // instead of what is kept
  };

  void feed() {
    while (written_ < waiting_.size()) {
      const ssize_t size = ::write(in_.get(), waiting_.data() + written_, waiting_.size() - written_);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return in_watch_->wait_writable([this] { feed(); });
      if (size < 0) {  // it no longer reads
        is_open_ = false;
        break;
      }
      written_ += static_cast<std::size_t>(size);
    }
    waiting_ = {};
    written_ = 0;
    if (is_open_) return;
    in_watch_.reset();
    in_.reset();
  }

  void listen(Output& output) {
    output.watch->wait_readable([this, &output] {
      if (read_some(output, kTurnReads)) listen(output);
    });
  }

  // False at the end of the output.
  static bool read_some(Output& output, std::size_t reads) {
    static thread_local std::array<char, 64U << 10U> buffer;
    for (std::size_t i = 0; i < reads; ++i) {
      const ssize_t size = ::read(output.fd.get(), buffer.data(), buffer.size());
      if (size < 0) return errno == EAGAIN || errno == EINTR;
      if (size == 0) return false;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
      output.lines ? output.lines->append(bytes) : output.kept.append(bytes);
    }
    return true;
  }

  void hear() {
    Report report{};
    ssize_t size = 0;
    while ((size = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT)) > 0) {
      if (report.kind == Report::Kind::kEnded) {
        status_ = report.value;
        ended_ = true;
      } else {
        failure_ = failure_text(report, spec_.argv.front(), spec_.cwd);
      }
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return control_watch_.wait_readable([this] { hear(); });
    const auto over = std::move(over_);  // it outlives the call, and we do not
    over();
  }

  void explain(ChildResult& result) const {
    using End = ChildResult::End;
    if (!failure_.empty()) {
      result.end = End::kFailedToStart;
      result.reason = failure_;
    } else if (ordered_) {
      result.end = *ordered_;
      result.reason = *ordered_ == End::kTimedOut ? fmt::format("timed out after {}", duration_text(spec_.timeout_ms))
                                                  : "cancelled";
    } else if (!ended_) {
      result.end = End::kSignalled;
      result.code = SIGKILL;
      result.reason = "its supervisor was killed";
    } else if (WIFSIGNALED(status_)) {
      const char* name = ::sigabbrev_np(result.code);
      result.end = End::kSignalled;
      result.reason = fmt::format("killed by signal {} (SIG{})", result.code, name != nullptr ? name : "?");
    } else {
      result.reason = fmt::format("exit status {}", result.code);
    }
  }

  ChildSpec spec_;
  std::string failure_;  // why it did not start
  std::function<void()> over_;
  std::string waiting_;  // to be read by it, from written_ on
  std::size_t written_ = 0;
  bool is_open_;                             // more may be said to it
  std::optional<ChildResult::End> ordered_;  // the end that we asked for
  int status_ = 0;                           // of waitpid
  bool ended_ = false;                       // status_ is known
  Descriptor in_;
  Output out_, err_;
  Descriptor control_;
  std::optional<net::Watch> in_watch_;  // the watches after their descriptors, so that they go first
  net::Watch control_watch_;
  net::Timer timeout_;
};

std::optional<Cgroups> groups_for(const ChildLimits& limits) {
  if (!limits.any()) return std::nullopt;
  auto folder = Cgroups::own_folder();
  auto groups = folder ? Cgroups::set_up(*std::move(folder), limits) : std::unexpected(folder.error());
  if (groups) return *std::move(groups);
  log::warn("children cannot be limited here, and are not", {{"why", groups.error().message}});
  return std::nullopt;
}

}  // namespace

struct Children::Impl {
  Impl(net::Loop& its_loop, std::optional<Cgroups> its_groups) : loop(its_loop), groups(std::move(its_groups)) {}

  void finish(ChildId id, const std::function<void(ChildResult)>& done) {
    auto node = children.extract(id);
    ChildResult result = node.mapped()->result();
    if (const auto why = groups ? groups->end(id) : std::nullopt) result.reason = *why;
    node = {};  // its descriptors are closed before `done`, which may destroy us
    done(std::move(result));
  }

  [[nodiscard]] Result<Descriptor> group_of(ChildId id) const {
    if (groups) return groups->make(id);
    Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nowhere) return no_process(errno);
    return nowhere;
  }

  net::Loop& loop;
  const std::optional<Cgroups> groups;
  Nursery nursery;
  ChildId last_id = 0;
  std::map<ChildId, std::unique_ptr<Child>> children;
};

Children::Children(net::Loop& loop, const ChildLimits& limits) {
  std::signal(SIGPIPE, SIG_IGN);
  if (::access("/proc/thread-self/children", R_OK) != 0) {
    log::warn("/proc/thread-self/children cannot be read: processes that leave their group will not be found");
  }
  // Before the nursery, which stays in the group of whoever forks it.
  impl_ = std::make_unique<Impl>(loop, groups_for(limits));
}

Children::~Children() {
  std::vector<pollfd> supervisors;
  for (const auto& [id, child] : impl_->children) {
    supervisors.push_back({.fd = child->hang_up(), .events = POLLRDHUP, .revents = 0});
  }
  const SystemClock clock;
  const std::int64_t deadline = clock.mono_ms() + kFarewellMs;
  const auto leave_groups = [this] {
    for (const auto& [id, child] : impl_->children) static_cast<void>(impl_->groups->end(id));
  };
  while (!supervisors.empty() && clock.mono_ms() < deadline) {
    ::poll(supervisors.data(), supervisors.size(), static_cast<int>(deadline - clock.mono_ms()));
    std::erase_if(supervisors,
                  [](const pollfd& supervisor) { return (supervisor.revents & (POLLRDHUP | POLLHUP)) != 0; });
  }
  if (impl_->groups) leave_groups();
}

Result<Children::Started> Children::spawn(ChildSpec spec, std::function<void(ChildResult)> done) {
  auto channels = make_channels();
  if (!channels) return std::unexpected(channels.error());
  std::string flaw = flaw_of(spec);
  const ChildId id = impl_->last_id + 1;
  int pid = 0;
  if (flaw.empty()) {
    const auto group = impl_->group_of(id);
    if (!group) return std::unexpected(group.error());
    const auto command = pack_command(spec);
    if (!command) return std::unexpected(command.error());
    const LaunchFds fds{.command = command->get(),
                        .in = channels->in.theirs.get(),
                        .out = channels->out.theirs.get(),
                        .err = channels->err.theirs.get(),
                        .control = channels->control.theirs.get(),
                        .group = group->get()};
    if (auto launched = impl_->nursery.launch(fds); !launched) return std::unexpected(launched.error());
  }
  // Now only the processes below hold the other ends: when they are gone, or never were, the channels end.
  for (Pipe* pipe : {&channels->in, &channels->out, &channels->err, &channels->control}) pipe->theirs.reset();
  if (flaw.empty()) {
    const auto started = await_pid(channels->control.ours.get());
    if (!started) return std::unexpected(started.error());
    pid = *started;
  }
  impl_->last_id = id;
  auto child = std::make_unique<Child>(impl_->loop, std::move(spec), std::move(*channels), std::move(flaw),
                                       [impl = impl_.get(), id, done = std::move(done)] { impl->finish(id, done); });
  child->begin();
  impl_->children.emplace(id, std::move(child));
  return Started{.id = id, .pid = pid};
}

bool Children::write(ChildId id, std::string_view bytes) {
  const auto it = impl_->children.find(id);
  return it != impl_->children.end() && it->second->write(bytes);
}

void Children::close_input(ChildId id) {
  const auto it = impl_->children.find(id);
  if (it != impl_->children.end()) it->second->close_input();
}

void Children::cancel(ChildId id) {
  const auto it = impl_->children.find(id);
  if (it != impl_->children.end()) it->second->terminate(ChildResult::End::kCancelled);
}

std::size_t Children::running() const { return impl_->children.size(); }

}  // namespace agentd::process
