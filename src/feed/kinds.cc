#include "feed/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/document.h"
#include "feed/kind_table.h"

namespace agentd::feed {
namespace {

// The table without its payload types, to be indexed by Kind.
struct PlainRow {
  std::string_view name;
  Audience audience = Audience::kOperator;
  Json (*schema)() = nullptr;
};

constexpr std::array<PlainRow, kKindCount> kRows = [] {
  std::array<PlainRow, kKindCount> rows;
  for_each_row([&](const auto& row) {
    rows[static_cast<std::size_t>(row.kind)] = {.name = row.name, .audience = row.audience, .schema = row.schema};
  });
  return rows;
}();

const PlainRow& row_of(Kind kind) { return kRows[static_cast<std::size_t>(kind)]; }

// What may have been meant by a name that is no kind's.
std::string suggestion(std::string_view word) {
  const std::vector<std::string> names = KindSet::all().names();
  const std::string near = nearest(word, names);
  return near.empty() ? fmt::format("the kinds are {}", fmt::join(names, ", "))
                      : fmt::format("did you mean \"{}\"?", near);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::string_view kind_name(Kind kind) { return row_of(kind).name; }

std::optional<Kind> find_kind(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &PlainRow::name);
  if (found == kRows.end()) return std::nullopt;
  return static_cast<Kind>(found - kRows.begin());
}

Audience audience(Kind kind) { return row_of(kind).audience; }

bool within(Audience audience, const Visibility& visibility) {
  switch (visibility.reach()) {
    case Visibility::Reach::kOperator: return true;
    case Visibility::Reach::kOwner: return audience != Audience::kOperator;
    case Visibility::Reach::kAll: return audience == Audience::kAll;
  }
  return false;
}

Json kind_schema(Kind kind) { return row_of(kind).schema(); }

KindSet KindSet::all() {
  KindSet out;
  out.bits_.set();
  return out;
}

Result<KindSet> KindSet::parse(std::string_view list) {
  KindSet out;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    const std::optional<Kind> kind = find_kind(name);
    if (!kind.has_value()) {
      const std::string shown = cut_text(name, 64);
      return fail(Code::kInvalidParams, fmt::format("unknown kind {}; {}", quote_json(shown), suggestion(shown)));
    }
    out.insert(*kind);
  }
  return out == KindSet() ? all() : out;
}

std::vector<std::string> KindSet::names() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    if (bits_.test(i)) out.emplace_back(kRows[i].name);
  }
  return out;
}

KindSet kinds_for(const Viewer& viewer, bool introspection) {
  KindSet out;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (kind == Kind::kAudit && !introspection) continue;
    if (viewer.is_operator || audience(kind) != Audience::kOperator) out.insert(kind);
  }
  return out;
}

}  // namespace agentd::feed
