// effective(): a Snapshot back in the shape of its document, along the table.
#include <type_traits>

#include "config/table.h"

namespace agentd::config {
namespace {

constexpr const char* kHidden = "***";

// One of the values a slot points to, in the way the row's type is written.
struct Writer {
  const Row& row;

  Json operator()(const std::string* value) const { return *value; }
  Json operator()(const bool* value) const { return *value; }
  Json operator()(const std::uint64_t* value) const {
    return row.type == Type::kSize ? Json(size_text(*value)) : Json(*value);
  }
  Json operator()(const std::int64_t* value) const { return duration_text(static_cast<std::uint64_t>(*value)); }
  Json operator()(const double* value) const { return *value; }
  Json operator()(const std::optional<double>* value) const { return *value ? Json(**value) : Json(); }
  Json operator()(const std::vector<std::string>* value) const { return *value; }
  Json operator()(const std::optional<Rate>* value) const { return *value ? Json(rate_text(**value)) : Json(); }
  Json operator()(const std::optional<Secret>* value) const { return *value ? Json(kHidden) : Json(); }
  template <class Enumeration>
    requires std::is_enum_v<Enumeration>
  Json operator()(const Enumeration* value) const {
    return row.choices[static_cast<std::size_t>(*value)];
  }
};

// Whether the value means that the key was left out, and could not be written down.
bool is_absent(const Row& row, const Json& value) {
  return value.is_null() || (row.type == Type::kTrue && value == false) || (row.type == Type::kString && value == "") ||
         (row.type == Type::kList && value.empty());
}

Json workflows_of(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const Document& workflow : snapshot.workflows) {
    out.push_back(workflow.file == snapshot.file ? workflow.value : Json{{"file", workflow.file}});
  }
  return out;
}

Json section_of(const Row& section, Snapshot& snapshot);

Json principals_of(const Row& row, const Snapshot& snapshot) {
  Json out = Json::array();
  for (const PrincipalRule& rule : snapshot.a2a.principals) {
    Snapshot one;  // an item's slots are those of the last rule
    one.a2a.principals = {rule};
    out.push_back(section_of(*find_row(std::string(row.path) + "[]"), one));
  }
  return out;
}

Json section_of(const Row& section, Snapshot& snapshot) {
  Json out = Json::object();
  for (const Row* row : members_of(section)) {
    Json value;
    switch (row->type) {
      case Type::kSection: value = section_of(*row, snapshot); break;
      case Type::kPrincipals: value = principals_of(*row, snapshot); break;
      case Type::kWorkflows: value = workflows_of(snapshot); break;
      default:
        value = std::visit(Writer{*row}, row->slot(snapshot));
        if (is_absent(*row, value)) continue;
    }
    out[std::string(name_of(*row))] = std::move(value);
  }
  return out;
}

}  // namespace

Json effective(const Snapshot& snapshot) {
  Snapshot copy = snapshot;  // slots are of a mutable one
  return section_of(*find_row(""), copy);
}

}  // namespace agentd::config
