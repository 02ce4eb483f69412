#include "base/glob.h"

namespace agentd {

bool matches_glob(std::string_view glob, std::string_view text) {
  // Where the last * was, and how much of the text it has taken so far: on a miss it takes one character more.
  std::size_t star = std::string_view::npos, taken = 0, g = 0, t = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

}  // namespace agentd
