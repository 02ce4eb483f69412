#include "base/faults.h"

#include <fmt/format.h>

#include <algorithm>

namespace agentd {

std::string member_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string item_path(const std::string& path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

void Faults::add(const std::string& path, std::string message, std::string expected) {
  const Mark mark = document_.locate(path);
  found_.push_back({.file = mark.file.empty() ? document_.file : mark.file,
                    .line = mark.line,
                    .column = mark.column,
                    .path = path,
                    .message = std::move(message),
                    .expected = std::move(expected)});
}

void Faults::add_unknown_keys(const std::string& path, const Json& object, const std::vector<std::string>& names) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string near = nearest(key, names);
    add(member_path(path, key), near.empty() ? "unknown key" : fmt::format("unknown key; did you mean {}?", near),
        fmt::format("one of {}", fmt::join(names, ", ")));
  }
}

}  // namespace agentd
