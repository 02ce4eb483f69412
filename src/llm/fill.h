// ${…} in the texts of a reply: ${text} is the user's text, ${0} what the rule's expression matched, ${1} …
// its groups.
// `$${` is the text `${`. A group that took no part in the match is empty.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "llm/script.h"

namespace agentd::llm {

struct Values {
  std::string_view text;
  std::vector<std::string_view> groups;  // [0] = the whole match
};

// What is wrong with the ${…} of `text` when the rule's expression has `groups` groups; "" when nothing is.
[[nodiscard]] std::string check_fill(std::string_view text, std::size_t groups);
// Takes what check_fill passes; at most 1 MiB, cut beyond.
[[nodiscard]] std::string fill(std::string_view text, const Values& values);
// Every string of an action, those inside of JSON values included.
[[nodiscard]] Action fill(Action action, const Values& values);

}  // namespace agentd::llm
