#include "client/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "base/folders.h"
#include "client/url.h"

namespace agentd::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToken = "access_token";
constexpr const char* kLaunch = "launch";
constexpr mode_t kOthers = 077;
constexpr int kLockMs = 5'000;
constexpr int kLockStepMs = 10;

std::unexpected<Error> disk(const std::string& path, std::string_view what) {
  return fail(Code::kInternal, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const auto got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk(path, "cannot be read");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > JsonLimits{}.bytes) return fail(Code::kConfig, path + " is too long to be a file of tokens");
  }
}

KeptToken entry_of(const Json& all, const std::string& key) {
  const auto entry = all.find(key);
  if (entry == all.end() || !entry->is_object()) return {};
  const auto token = entry->find(kToken);
  if (token == entry->end() || !token->is_string()) return {};
  const auto launch = entry->find(kLaunch);
  return {.token = token->get<std::string>(), .launch = launch != entry->end() && *launch == true};
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return disk(path, "cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The folder, made if need be, closed to others, and locked while the descriptor lives.
Result<Descriptor> locked_folder(const fs::path& folder) {
  std::error_code ignored;  // what is missing then is found below
  fs::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return disk(folder, "cannot be made");
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return disk(folder, "cannot be opened");
  if (::fchmod(opened.get(), 0700) != 0) return disk(folder, "cannot be closed to others");
  for (int waited = 0; ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0; waited += kLockStepMs) {
    if (errno != EWOULDBLOCK || waited >= kLockMs) return disk(folder, "cannot be locked");
    ::poll(nullptr, 0, kLockStepMs);
  }
  return opened;
}

// Puts `text` in the place of the file, all of it or nothing. The folder is locked, so the name of the new file is ours.
Status replace(int folder, const fs::path& path, std::string_view text) {
  const std::string fresh = path.filename().string() + ".new";
  ::unlinkat(folder, fresh.c_str(), 0);  // left by a crash
  const Descriptor file(::openat(folder, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return disk(path, "cannot be written");
  Status done = write_all(file.get(), text, path);
  if (done && (::fsync(file.get()) != 0 || ::renameat(folder, fresh.c_str(), folder, path.filename().c_str()) != 0 ||
               ::fsync(folder) != 0)) {
    done = disk(path, "cannot be written");
  }
  if (!done) ::unlinkat(folder, fresh.c_str(), 0);
  return done;
}

}  // namespace

std::string credentials_path() {
  const std::string folder = user_folder("XDG_CONFIG_HOME", ".config");
  return folder.empty() ? "" : folder + "/agentd/credentials.json";
}

Result<KeptToken> Credentials::find(const std::string& url) const {
  const auto key = canonical_url(url);
  if (!key || path_.empty()) return KeptToken{};  // none can be kept for it
  const auto all = read();
  if (!all) return std::unexpected(all.error());
  return entry_of(*all, *key);
}

Status Credentials::keep(const std::string& url, const std::string& token) const {
  return change(url, {.token = token});
}

Status Credentials::keep_launch(const std::string& url, const std::string& token) const {
  return change(url, {.token = token, .launch = true});
}

Status Credentials::forget(const std::string& url) const { return change(url, {}); }

// The whole file; {} when there is none.
Result<Json> Credentials::read() const {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return Json::object();
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) return disk(path_, "cannot be read");
  if (!S_ISREG(about.st_mode)) return fail(Code::kConfig, path_ + " is no file");
  if (about.st_uid != ::geteuid())
    return fail(Code::kConfig, path_ + " belongs to somebody else: name a folder of your own in XDG_CONFIG_HOME");
  if ((about.st_mode & kOthers) != 0) {
    return fail(Code::kConfig,
                fmt::format("{0} has the mode {1:04o}, so others may know the tokens in it: it is not read. "
                            "Run 'chmod 600 {0}'; if others could read it, sign in again as well",
                            path_, about.st_mode & 07777U));
  }
  const auto text = read_all(file.get(), path_);
  if (!text) return std::unexpected(text.error());
  auto all = parse_json(*text);
  if (!all || !all->is_object()) {
    return fail(Code::kConfig, path_ + " is not what 'agentd login' writes: delete it and sign in again");
  }
  return std::move(*all);
}

Status Credentials::change(const std::string& url, const KeptToken& to) const {
  const auto key = canonical_url(url);
  if (!key) return std::unexpected(key.error());
  if (path_.empty()) {
    return fail(Code::kConfig, "there is no place for the token: neither XDG_CONFIG_HOME nor HOME is set");
  }
  const fs::path path(path_);
  const auto folder = locked_folder(path.parent_path());
  if (!folder) return std::unexpected(folder.error());
  auto all = read();
  if (!all) return std::unexpected(all.error());
  if (to.launch) {
    const KeptToken before = entry_of(*all, *key);
    if (!before.token.empty() && !before.launch) return {};
  }
  all->erase(*key);
  if (!to.token.empty()) (*all)[*key][kToken] = to.token;
  if (to.launch) (*all)[*key][kLaunch] = true;
  return replace(folder->get(), path, dump_json(*all) + "\n");
}

}  // namespace agentd::client
