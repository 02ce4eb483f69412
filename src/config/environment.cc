#include "config/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

#include "base/plain_scalar.h"
#include "config/table.h"

namespace agentd::config {
namespace {

constexpr std::string_view kPrefix = "AGENTD_";
// Read by the command line, not by the daemon: which file, which daemon, which credential.
constexpr std::array<std::string_view, 4> kCommandLine = {"AGENTD_CONFIG", "AGENTD_URL", "AGENTD_CA", "AGENTD_TOKEN"};

using Names = std::set<std::string, std::less<>>;
using Blame = std::function<void(std::string message)>;

// The text as a value of the key at `path`: what a person would have written there without quotes.
Json typed(const std::string& path, std::string text) {
  const Row* row = find_row(path);
  if (row != nullptr && (row->type == Type::kInteger || row->type == Type::kNumber || row->type == Type::kBoolean ||
                         row->type == Type::kTrue)) {
    if (auto value = plain_scalar(text)) return *std::move(value);
  }
  return text;
}

// Puts in variables. One object per load: it remembers the names that the document refers to.
class Substitution final {
 public:
  Substitution(const Environment& env, Report& report) : env_(env), report_(report) {}

  void visit(Json& value, const std::string& path) {
    if (path == "workflows") return;
    if (value.is_object()) {
      for (auto& [key, member] : value.items()) visit(member, join_path(path, key));
      if (const auto name = value.find("env"); name != value.end() && name->is_string()) {
        names.insert(name->get<std::string>());
      }
    } else if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) visit(value[i], fmt::format("{}[{}]", path, i));
    } else if (value.is_string()) {
      visit_text(value, path);
    }
  }

  Names names;

 private:
  void visit_text(Json& value, const std::string& path) {
    const Row* row = find_row(path);
    // A literal where a reference belongs is refused later; until then nobody looks into it.
    if (row != nullptr && row->type == Type::kSecret) return;
    const std::string& text = value.get_ref<const std::string&>();
    if (!text.contains('$')) return;
    bool failed = false;
    std::string expanded = expand(text, [&](std::string message) {
      report_.add(path, std::move(message));
      failed = true;
    });
    if (failed) report_.settle(path);
    if (expanded != text) value = typed(path, std::move(expanded));
  }

  std::string expand(std::string_view text, const Blame& blame) {
    std::string out;
    while (!text.empty()) {
      const std::size_t dollar = text.find('$');
      out += text.substr(0, dollar);
      if (dollar == std::string_view::npos) break;
      text.remove_prefix(dollar);
      std::size_t taken = 1;
      if (text.starts_with("$${")) {
        out += "${";
        taken = 3;
      } else if (text.starts_with("${{")) {
        const std::size_t end = text.find("}}");
        taken = end == std::string_view::npos ? text.size() : end + 2;
        out += text.substr(0, taken);
      } else if (text.starts_with("${")) {
        const std::size_t end = text.find('}');
        taken = end == std::string_view::npos ? text.size() : end + 1;
        out += reference(text.substr(0, taken), blame);
      } else {
        out += '$';
      }
      text.remove_prefix(taken);
    }
    return out;
  }

  // The value of "${NAME}" or "${NAME:-text}".
  std::string reference(std::string_view whole, const Blame& blame) {
    const std::string_view inside = whole.ends_with('}') ? whole.substr(2, whole.size() - 3) : std::string_view();
    const std::size_t colon = inside.find(":-");
    const std::string_view name = inside.substr(0, colon);
    if (!is_variable_name(name)) {
      blame("a ${ begins no reference to a variable: write ${NAME}, or $${ for the characters themselves");
      return "";
    }
    names.emplace(name);
    const std::string* value = find_variable(env_, name);
    if (colon != std::string_view::npos) {
      return value != nullptr && !value->empty() ? *value : std::string(inside.substr(colon + 2));
    }
    if (value == nullptr) {
      blame(fmt::format("the variable {0} is not set: set it, or write ${{{0}:-default}}", name));
      return "";
    }
    return *value;
  }

  const Environment& env_;
  Report& report_;
};

// Puts the text at the path, and says that it came from the variable. A value in the way is left to be
// refused.
void put(Document& document, const Row& row, const std::string& variable, const std::string& text) {
  Json* at = &document.value;
  for (std::string_view rest = row.path; !rest.empty();) {
    if (at->is_null()) *at = Json::object();
    if (!at->is_object()) return;
    const std::size_t dot = rest.find('.');
    at = &(*at)[std::string(rest.substr(0, dot))];
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  const std::string path(row.path);
  *at = typed(path, text);
  document.marks.insert_or_assign(path, Mark{"environment variable " + variable, 0, 0});
}

std::string complaint(const std::string& name) {
  std::vector<std::string> known;
  for (const Row& row : table()) {
    std::string variable = variable_of(row);
    if (variable == name) return fmt::format("cannot be a secret itself: write {}: {{env: {}}}", row.path, name);
    if (!variable.empty() && row.type != Type::kSecret) known.push_back(std::move(variable));
  }
  const std::string near = nearest(name, known);
  return near.empty() ? "overrides no key" : fmt::format("overrides no key; did you mean {}?", near);
}

void overlay(Document& document, const Environment& env, const Names& referred, Report& report) {
  Names used = referred;
  used.insert(kCommandLine.begin(), kCommandLine.end());
  for (const Row& row : table()) {
    const std::string variable = variable_of(row);
    if (variable.empty() || row.type == Type::kSecret) continue;
    if (const std::string* text = find_variable(env, variable)) put(document, row, variable, *text);
    used.insert(variable);
  }
  for (const auto& [name, _] : env) {
    if (!name.starts_with(kPrefix) || used.contains(name)) continue;
    report.take({Fault{.file = "environment variable " + name, .message = complaint(name)}});
  }
}

}  // namespace

const std::string* find_variable(const Environment& env, std::string_view name) {
  const auto found = std::ranges::find(env, name, &Environment::value_type::first);
  return found == env.end() ? nullptr : &found->second;
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return !name.empty() && (name[0] < '0' || name[0] > '9') && name.find_first_not_of(kLetters) == name.npos;
}

void put_in_variables(Document& document, const Environment& env, Report& report) {
  Substitution(env, report).visit(document.value, "");
}

void apply_environment(Document& document, const Environment& env, Report& report) {
  Substitution substitution(env, report);
  substitution.visit(document.value, "");
  overlay(document, env, substitution.names, report);
}

}  // namespace agentd::config
