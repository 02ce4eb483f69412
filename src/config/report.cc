#include "config/report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace agentd::config {

void Report::add(std::string path, std::string message, std::string expected) {
  if (settled_.contains(path)) return;
  Mark mark = document_.locate(path);
  faults_.push_back({.file = std::move(mark.file),
                     .line = mark.line,
                     .column = mark.column,
                     .path = std::move(path),
                     .message = std::move(message),
                     .expected = std::move(expected)});
}

void Report::take(std::vector<Fault> faults) { std::ranges::move(faults, std::back_inserter(faults_)); }

std::vector<Fault> Report::in_order() && {
  std::map<std::string, std::size_t, std::less<>> ranks = {{document_.file, 0}};
  std::multimap<std::tuple<std::size_t, int, int>, Fault> sorted;  // equal keys stay in order
  for (Fault& fault : faults_) {
    const std::size_t rank = ranks.emplace(fault.file, ranks.size()).first->second;
    sorted.emplace(std::tuple(rank, fault.line, fault.column), std::move(fault));
  }
  faults_.clear();
  for (auto& [_, fault] : sorted) faults_.push_back(std::move(fault));
  return std::move(faults_);
}

}  // namespace agentd::config
