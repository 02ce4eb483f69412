// changes(): two snapshots side by side, along the table.
#include <algorithm>

#include "config/table.h"

namespace agentd::config {
namespace {

bool same(const std::vector<Document>& before, const std::vector<Document>& after) {
  return std::ranges::equal(before, after, [](const Document& one, const Document& other) {
    return one.file == other.file && one.value == other.value;
  });
}

template <class Value>
bool same(const Value* before, const Value* after) {
  return *before == *after;
}

bool same(const Variables& before, const Variables& after) {
  return same(before.texts, after.texts) && same(before.secrets, after.secrets);
}

bool same_slot(const Slot& before, const Slot& after) {
  return std::visit([&after]<class Value>(const Value& value) { return same(value, std::get<Value>(after)); }, before);
}

}  // namespace

std::vector<std::string> changes(const Snapshot& before, const Snapshot& after) {
  Snapshot one = before, other = after;  // slots are of mutable ones
  std::vector<std::string> out;
  for (const Row& row : table()) {
    if (row.path.contains("[]") || row.type == Type::kEndpoint) continue;  // their list is compared
    const bool is_same = row.type == Type::kWorkflows ? same(one.workflows, other.workflows)
                         : row.slot == nullptr        ? true
                                                      : same_slot(row.slot(one), row.slot(other));
    const bool reads_otherwise = row.path == "agent.files" && one.agent.guidance != other.agent.guidance;
    if (!is_same || reads_otherwise) out.emplace_back(row.path);
  }
  return out;
}

bool needs_restart(const std::string& path) {
  const Row* row = find_row(path);
  return row != nullptr && row->flag == Flag::kRestart;
}

}  // namespace agentd::config
