#include "cli/table.h"

#include <algorithm>

#include "cli/printable.h"

namespace agentd::cli {
namespace {

constexpr std::size_t kWidest = 64;

}  // namespace

void Table::add(std::vector<Cell> row) {
  for (auto& cell : row) cell.text = brief(cell.text, kWidest);
  rows_.push_back(std::move(row));
}

std::string Table::text(const Style& style) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i].text));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::size_t behind = 0;  // blanks that no cell has followed yet
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t width = characters(row[i].text);
      if (width > 0) out += std::string(behind, ' ') + paint(row[i].text, row[i].ink, style.colour);
      behind = (width > 0 ? 0 : behind) + widths[i] - width + 2;
    }
    out += '\n';
  }
  return out;
}

}  // namespace agentd::cli
