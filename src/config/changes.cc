// changes(): two snapshots side by side, along the table.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "config/table.h"

namespace agentd::config {
namespace {

bool same(const std::vector<Document>& before, const std::vector<Document>& after) {
  return std::ranges::equal(before, after, [](const Document& one, const Document& other) {
    return one.file == other.file && one.value == other.value;
  });
}

bool same_slot(const Slot& before, const Slot& after) {
  return std::visit(
      [&after](const auto* value) {
        return *value == *std::get<std::remove_const_t<std::remove_pointer_t<decltype(value)>>*>(after);
      },
      before);
}

}  // namespace

std::vector<std::string> changes(const Snapshot& before, const Snapshot& after) {
  Snapshot one = before, other = after;  // slots are of mutable ones
  std::vector<std::string> out;
  for (const Row& row : table()) {
    const bool is_item = row.path.contains("[]");
    const bool is_same = row.type == Type::kPrincipals    ? one.a2a.principals == other.a2a.principals
                         : row.type == Type::kWorkflows   ? same(one.workflows, other.workflows)
                         : is_item || row.slot == nullptr ? true
                                                          : same_slot(row.slot(one), row.slot(other));
    if (!is_same) out.emplace_back(row.path);
  }
  return out;
}

bool needs_restart(const std::string& path) {
  const Row* row = find_row(path);
  return row != nullptr && row->flag == Flag::kRestart;
}

}  // namespace agentd::config
