// The rules of a scripted model: one condition, one reply each, and the reader of their file.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "llm/script.h"

namespace agentd::llm {

struct Rule {
  std::shared_ptr<const RE2> text;  // found anywhere in the user's text; null = any text
  std::string message_id_prefix;
  std::optional<std::uint64_t> turn;
  Script reply;  // texts still hold their ${…}
};

// Every fault: unknown keys and actions, expressions that are none, ${…} that nothing fills, actions after
// the last.
[[nodiscard]] std::expected<std::vector<Rule>, std::vector<Fault>> read_rules(const Document& document);

}  // namespace agentd::llm
