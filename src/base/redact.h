// Redactor: takes the secrets that the daemon knows out of text from outside, before that goes to a log, the feed, the store or an error.
//
// Every occurrence of a secret becomes "***"; those that overlap or touch become one, so that nothing of either is left. A secret of less
// than kShortest bytes is not looked for: it would take ordinary words out. Nor are other spellings of one (Base64, percent-encoding, a
// JSON text's escapes: redact the values, not the text), and a secret cut across two texts is in neither: redact whole ones.
// Immutable, so any thread. Cost: one search of the text for each secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace agentd {

class Redactor final {
 public:
  static constexpr std::size_t kShortest = 8;

  explicit Redactor(std::vector<std::string> secrets);

  [[nodiscard]] std::string redact(std::string_view text) const;
  // All strings in it, names of members too; two members whose names become the same are then one.
  [[nodiscard]] Json redact_json(Json value) const;

 private:
  std::vector<std::string> secrets_;
};

}  // namespace agentd
