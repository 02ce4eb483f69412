// Faults: what one reader of a document finds wrong in it, each with its place.
//
// A reader holds one, adds to it as it goes on reading, and hands it out when it is not empty: every fault, not the first.
// Thread rule: a value. `member_path` and `item_path` make the dotted paths that Document::locate knows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"

namespace agentd {

[[nodiscard]] std::string member_path(const std::string& path, std::string_view key);  // "steps.count"
[[nodiscard]] std::string item_path(const std::string& path, std::size_t index);       // "needs[0]"

class Faults final {
 public:
  explicit Faults(const Document& document) : document_(document) {}

  void add(const std::string& path, std::string message, std::string expected = "");
  // One for each member of `object` that is not among `names`, with the nearest that is.
  void add_unknown_keys(const std::string& path, const Json& object, const std::vector<std::string>& names);

  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] std::size_t size() const { return found_.size(); }
  [[nodiscard]] std::vector<Fault> take() { return std::exchange(found_, {}); }

 private:
  const Document& document_;
  std::vector<Fault> found_;
};

}  // namespace agentd
