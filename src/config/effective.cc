// effective(): a Snapshot back in the shape of its document, along the table.
#include <type_traits>
#include <utility>

#include "config/table.h"

namespace agentd::config {
namespace {

constexpr const char* kHidden = "***";

Json section_of(const Row& section, Snapshot& snapshot);

// One of the values a slot points to, in the way the row's type is written.
struct Writer {
  const Row& row;
  Snapshot& snapshot;

  Json operator()(const std::string* value) const { return *value; }
  Json operator()(const bool* value) const { return *value; }
  Json operator()(const std::uint64_t* value) const {
    return row.type == Type::kSize ? Json(size_text(*value)) : Json(*value);
  }
  Json operator()(const std::int64_t* value) const { return duration_text(static_cast<std::uint64_t>(*value)); }
  Json operator()(const double* value) const { return *value; }
  Json operator()(const std::optional<double>* value) const { return *value ? Json(**value) : Json(); }
  Json operator()(const std::vector<std::string>* value) const {
    const std::ptrdiff_t program = value->empty() ? 0 : 1;
    if (row.type == Type::kProgram) return value->empty() ? Json() : Json(value->front());
    if (row.type == Type::kArguments) return std::vector(value->begin() + program, value->end());
    return *value;
  }
  Json operator()(const std::optional<Rate>* value) const { return *value ? Json(rate_text(**value)) : Json(); }
  Json operator()(const std::optional<Secret>* value) const { return *value ? Json(kHidden) : Json(); }
  // A text among them is likely a secret too, put in from a variable.
  Json operator()(const Variables& value) const {
    Json out = Json::object();
    for (const auto& [name, _] : *value.texts) out[name] = kHidden;
    for (const auto& [name, _] : *value.secrets) out[name] = kHidden;
    return out;
  }
  template <class Enumeration>
    requires std::is_enum_v<Enumeration>
  Json operator()(const Enumeration* value) const {
    return row.choices[static_cast<std::size_t>(*value)];
  }
  // An item's slots are those of the last one: the list is emptied, and filled again one by one.
  template <class Item>
    requires(!std::is_same_v<Item, std::string>)
  Json operator()(std::vector<Item>* list) const {
    Json out = row.type == Type::kNamed ? Json::object() : Json::array();
    for (Item& item : std::exchange(*list, {})) {
      list->push_back(std::move(item));
      Json written = section_of(item_of(row), snapshot);
      if constexpr (std::is_same_v<Item, McpServer>) {
        out[list->back().name] = std::move(written);
      } else {
        out.push_back(std::move(written));
      }
    }
    return out;
  }
};

// Whether the value means that the key was left out, and could not be written down.
bool is_absent(const Row& row, const Json& value) {
  switch (row.type) {
    case Type::kTrue: return value == false;
    case Type::kString:
    case Type::kChoice:
    case Type::kWeb: return value == "";
    case Type::kSection:
    case Type::kList:
    case Type::kEndpoints:
    case Type::kArguments:
    case Type::kVariables:
    case Type::kHeaders: return value.empty();
    default: return value.is_null();
  }
}

Json workflows_of(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const Document& workflow : snapshot.workflows) {
    out.push_back(workflow.file == snapshot.file ? workflow.value : Json{{"file", workflow.file}});
  }
  return out;
}

Json section_of(const Row& section, Snapshot& snapshot) {
  Json out = Json::object();
  for (const Row* row : members_of(section)) {
    Json value;
    switch (row->type) {
      case Type::kSection:
        value = section_of(*row, snapshot);
        if (is_absent(*row, value)) continue;
        break;
      case Type::kEndpoint: continue;  // its list says it
      case Type::kWorkflows: value = workflows_of(snapshot); break;
      default:
        value = std::visit(Writer{*row, snapshot}, row->slot(snapshot));
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
