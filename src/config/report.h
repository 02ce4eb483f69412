// Report: the faults found so far in one configuration, each with the place where its member stands.
//
// A fault's text never quotes a value: a value may be a secret in the wrong place, or come from a variable
// that is one. Confined to one load; refers to its document, which outlives it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/document.h"

namespace agentd::config {

class Report final {
 public:
  explicit Report(const Document& document) : document_(document) {}

  void add(std::string path, std::string message, std::string expected = "");
  // From now on says nothing of this path: what follows from a fault is not another one.
  void settle(const std::string& path) { settled_.insert(path); }
  // Faults of another file that this one names.
  void take(std::vector<Fault> faults);

  [[nodiscard]] bool empty() const { return faults_.empty(); }
  // Those of the document itself first, by line and column; then each other file's (and the environment's).
  [[nodiscard]] std::vector<Fault> in_order() &&;

 private:
  const Document& document_;
  std::vector<Fault> faults_;
  std::set<std::string> settled_;
};

}  // namespace agentd::config
