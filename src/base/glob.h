// Globs, as grants and lists of tools are written. Pure. Cost: at most the product of both lengths.
#pragma once

#include <string_view>

namespace agentd {

// Whether `text` is what `glob` says, in which each * stands for any number of characters.
[[nodiscard]] bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace agentd
