#include "cli/artifacts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "cli/answer.h"
#include "cli/fields.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kMaxName = 120;
constexpr int kMaxSameName = 1000;

std::string reason() { return std::strerror(errno); }

std::string numbered(const std::string& name, int number) {
  if (number == 1) return name;
  const auto dot = name.rfind('.');
  const auto stem = dot == 0 ? std::string::npos : dot;
  return fmt::format("{}-{}{}", name.substr(0, stem), number, stem == std::string::npos ? "" : name.substr(stem));
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(Code::kInternal, "cannot write: " + reason());
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The name the file got.
Result<std::string> write_new_file(int folder, const std::string& name, std::string_view bytes) {
  for (int number = 1; number <= kMaxSameName; ++number) {
    std::string candidate = numbered(name, number);
    const Descriptor file(
        ::openat(folder, candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.get() < 0 && errno == EEXIST) continue;
    if (file.get() < 0) return fail(Code::kInternal, fmt::format("cannot make {}: {}", candidate, reason()));
    if (const auto written = write_all(file.get(), bytes); !written) return std::unexpected(written.error());
    return candidate;
  }
  return fail(Code::kInternal, fmt::format("there are {} files named {} already", kMaxSameName, name));
}

// The bytes of a part; none for a link.
std::optional<Result<std::string>> bytes_of(const Json& part) {
  if (member(part, "raw").is_string()) return decode_base64(text_of(part, "raw"));
  if (member(part, "url").is_string()) return std::nullopt;
  return readable(Json::array({part}));
}

std::string extension_for(const Json& part) {
  const std::string type = text_of(part, "mediaType");
  if (type == "text/markdown") return ".md";
  if (type == "text/html") return ".html";
  if (type == "application/json" || part.contains("data")) return ".json";
  return member(part, "raw").is_string() ? ".bin" : ".txt";
}

std::string name_for(const Json& artifact, const Json& part) {
  if (const auto name = text_of(part, "filename"); !name.empty()) return safe_file_name(name);
  auto name = text_of(artifact, "name");
  if (name.empty()) name = text_of(artifact, "artifactId");
  name = safe_file_name(name);
  return name.find('.') == std::string::npos ? name + extension_for(part) : name;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

}  // namespace

std::string safe_file_name(std::string_view wanted) {
  if (const auto slash = wanted.find_last_of("/\\"); slash != std::string_view::npos) wanted.remove_prefix(slash + 1);
  std::string name;
  for (const char c : to_utf8(wanted)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    name += control ? '_' : c;
  }
  name.erase(0, std::min(name.find_first_not_of(". "), name.size()));
  if (name.size() > kMaxName) {
    std::size_t end = kMaxName;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    name.resize(end);
  }
  return name.empty() ? "artifact" : name;
}

Result<std::string> decode_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return fail(Code::kParse, "an artifact's bytes are not base64");
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>((bits >> static_cast<unsigned>(held)) & 0xFFU);
    }
  }
  if (held == 6) return fail(Code::kParse, "an artifact's base64 is cut short");
  return out;
}

Result<std::vector<std::string>> write_artifacts(const std::vector<Json>& artifacts, const std::string& folder) {
  std::error_code made;
  std::filesystem::create_directories(folder, made);
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return fail(Code::kConfig, fmt::format("--out {}: {}", folder, reason()));
  std::vector<std::string> paths;
  for (const auto& artifact : artifacts) {
    const Json& parts = member(artifact, "parts");
    if (!parts.is_array()) continue;
    for (const auto& part : parts) {
      if (!part.is_object()) continue;
      const auto bytes = bytes_of(part);
      if (!bytes) continue;
      if (!*bytes) return std::unexpected(bytes->error());
      auto name = write_new_file(directory.get(), name_for(artifact, part), **bytes);
      if (!name) return std::unexpected(name.error());
      paths.push_back(fmt::format("{}/{}", folder, *name));
    }
  }
  return paths;
}

}  // namespace agentd::cli
