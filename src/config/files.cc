#include "config/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/descriptor.h"
#include "config/environment.h"

namespace agentd::config {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSecretBytes = 64U << 10U;
constexpr std::size_t kWorkflowFiles = 1000;

std::unexpected<Error> unreadable(std::string_view why) {
  return fail(Code::kConfig, fmt::format("the file cannot be read: {}", why));
}

// The bytes of a regular file, whose mode is checked on what was opened and not on what the name means later.
Result<std::string> read_bytes(const std::string& path, std::size_t most, mode_t forbidden) {
  // Non-blocking, so that a pipe without a writer is refused and not waited for.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) return unreadable(std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return unreadable("it is not a regular file");
  if ((about.st_mode & forbidden) != 0) {
    return fail(Code::kConfig, "the file is open to every user of this machine: take that away with chmod o-rwx");
  }
  std::string bytes(most + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(std::strerror(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > most) return unreadable(fmt::format("it is longer than {} bytes", most));
  bytes.resize(size);
  return bytes;
}

Result<Secret> read_variable(const std::string& name, const Environment& env) {
  if (!is_variable_name(name)) return fail(Code::kConfig, "env: names no variable: write its name, not its value");
  const std::string* value = find_variable(env, name);
  if (value == nullptr || value->empty()) return fail(Code::kConfig, "the variable that it names is not set, or empty");
  return Secret{.value = *value, .source = "env " + name};
}

Result<Secret> read_secret_file(const std::string& path) {
  auto bytes = read_bytes(path, kSecretBytes, S_IRWXO);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  if (bytes->ends_with('\n')) bytes->pop_back();
  if (bytes->ends_with('\r')) bytes->pop_back();
  if (bytes->empty()) return fail(Code::kConfig, "the file is empty");
  return Secret{.value = *std::move(bytes), .source = std::string(kFromFile) + path};
}

// The part of the main document's marks below `path`, as the item's own.
Document inline_document(const Json& value, const Document& main, const std::string& path) {
  Document out{.file = main.file, .value = value};
  for (auto at = main.marks.lower_bound(path); at != main.marks.end() && at->first.starts_with(path); ++at) {
    std::string_view rest = std::string_view(at->first).substr(path.size());
    if (rest.starts_with('.')) rest.remove_prefix(1);
    out.marks.emplace(rest, at->second);
  }
  return out;
}

// The file itself, or the YAML files of the folder by name.
Result<std::vector<std::string>> workflow_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (::access(path.c_str(), R_OK) != 0) return unreadable(std::strerror(errno));
    return std::vector{path};
  }
  std::vector<std::string> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::path extension = at->path().extension();
    if (extension != ".yaml" && extension != ".yml") continue;
    files.push_back(at->path());
    if (files.size() > kWorkflowFiles) return unreadable(fmt::format("more than {} workflows in it", kWorkflowFiles));
  }
  if (error) return unreadable(error.message());
  std::ranges::sort(files);
  return files;
}

// The path in a string, or in {file: PATH}; nullptr for any other value.
const std::string* path_in(const Json& item) {
  const auto file = item.is_object() && item.size() == 1 ? item.find("file") : item.end();
  const Json& value = item.is_object() && file != item.end() ? *file : item;
  return value.is_string() ? value.get_ptr<const std::string*>() : nullptr;
}

}  // namespace

fs::path folder_of(const std::string& file) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return file.empty() ? here : (here / file).parent_path();
}

std::string resolve_path(const fs::path& folder, const std::string& path) {
  return (folder / path).lexically_normal().string();
}

Result<Secret> read_secret(const Json& reference, const Environment& env, const fs::path& folder) {
  if (reference.is_object() && reference.size() == 1) {
    const auto member = reference.begin();
    const auto* text = member->get_ptr<const std::string*>();
    if (text != nullptr && member.key() == "env") return read_variable(*text, env);
    if (text != nullptr && member.key() == "file") {
      auto secret = read_secret_file(resolve_path(folder, *text));
      if (secret && secret->value.find_first_of("\r\n") != std::string::npos) {
        return fail(Code::kConfig, "the file has more than one line");
      }
      return secret;
    }
  }
  return fail(Code::kConfig, "a secret is a reference, never the secret itself: write {env: NAME} or {file: PATH}");
}

Result<std::string> read_text(const std::string& path, std::size_t most) {
  auto bytes = read_bytes(path, most, 0);
  if (bytes && to_utf8(*bytes) != *bytes) return unreadable("it is not UTF-8");
  return bytes;
}

std::vector<std::string> workflow_paths(const Json& list, const fs::path& folder) {
  std::vector<std::string> out;
  for (const Json& item : list) {
    if (const std::string* named = path_in(item)) out.push_back(resolve_path(folder, *named));
  }
  return out;
}

std::vector<Document> read_workflows(const Json& list, const Document& main, const fs::path& folder, Report& report) {
  std::vector<Document> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = fmt::format("workflows[{}]", i);
    const std::string* named = path_in(list[i]);
    if (named == nullptr && list[i].is_object()) {
      out.push_back(inline_document(list[i], main, path));
      continue;
    }
    if (named == nullptr) {
      report.add(path, "is not a workflow", "a mapping, {file: PATH}, or the path of a file or folder");
      continue;
    }
    const auto files = workflow_files(resolve_path(folder, *named));
    if (!files) {
      report.add(path, files.error().message);
      continue;
    }
    for (const std::string& file : *files) {
      auto document = read_document(file);
      if (document) {
        out.push_back(*std::move(document));
      } else {
        report.take(std::move(document.error()));
      }
    }
  }
  return out;
}

}  // namespace agentd::config
