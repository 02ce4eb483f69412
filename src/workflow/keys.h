// The keys of a workflow document: one table, from which come the check for unknown keys and the JSON Schema.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::workflow {

struct Key {
  std::string_view name;
  std::string_view schema;  // JSON
  std::string_view text;    // for the reader of the schema
};

[[nodiscard]] std::span<const Key> workflow_keys();
[[nodiscard]] std::span<const Key> start_keys();    // the kinds of start that there are
[[nodiscard]] std::span<const Key> command_keys();  // of `start.a2a`
[[nodiscard]] std::span<const Key> step_keys();
[[nodiscard]] std::span<const Key> finish_keys();
[[nodiscard]] std::span<const Key> artifact_keys();

[[nodiscard]] std::vector<std::string> names_of(std::span<const Key> keys);

inline constexpr std::string_view kNamePattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";
// Nothing that begins with '_': `_instance.` is the daemon's own.
inline constexpr std::string_view kOpPattern = "^[a-z][a-z0-9_-]*(\\.[a-z][a-z0-9_-]*)*$";
inline constexpr std::size_t kMaxOpBytes = 64;
inline constexpr std::string_view kStepPattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$";

}  // namespace agentd::workflow
