#include "process/protocol.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace agentd::process {
namespace {

struct Header {
  std::size_t argc, envc;
};

// Two arrays, each with its null at the end.
std::size_t slots(const Header& header) { return header.argc + header.envc + 2; }

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(Code::kUnavailable, fmt::format("no memory for a command: {}", std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<Descriptor> pack_command(const ChildSpec& spec) {
  const Header header{.argc = spec.argv.size(), .envc = spec.env.size()};
  std::string packed(sizeof header + slots(header) * sizeof(char*), '\0');
  std::memcpy(packed.data(), &header, sizeof header);
  for (const std::string& arg : spec.argv) packed.append(arg).push_back('\0');
  for (const auto& [name, value] : spec.env) packed.append(name).append("=").append(value).push_back('\0');
  packed.append(spec.cwd).push_back('\0');

  Descriptor fd(::memfd_create("agentd-command", MFD_CLOEXEC));
  if (!fd) return fail(Code::kUnavailable, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (auto written = write_all(fd.get(), packed); !written) return std::unexpected(written.error());
  return fd;
}

Command map_command(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return {};
  void* const start =
      ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) return {};
  const Header header = *static_cast<const Header*>(start);
  char** const pointers = reinterpret_cast<char**>(static_cast<char*>(start) + sizeof header);
  char* string = reinterpret_cast<char*>(pointers + slots(header));
  const auto fill = [&string](char** array, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      array[i] = string;
      string += std::strlen(string) + 1;
    }
    return array;
  };
  char** const argv = fill(pointers, header.argc);
  char** const env = fill(pointers + header.argc + 1, header.envc);
  return {.argv = argv, .env = env, .cwd = string};
}

}  // namespace agentd::process
