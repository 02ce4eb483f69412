#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/time_text.h"
#include "config/environment.h"
#include "config/files.h"
#include "config/origin.h"

namespace agentd::config {
namespace {

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view kServerLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view kToken = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && text.find_first_not_of(kSmall) == std::string_view::npos;
}

// As other programs' documents name their servers.
bool is_server_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of(kServerLetters) == std::string_view::npos;
}

bool is_header_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kToken) == std::string_view::npos;
}

bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; });
}

}  // namespace

Reader::Reader(const Document& document, const Environment& env, Snapshot& snapshot, Report& report)
    : document_(document), env_(env), folder_(folder_of(document.file)), snapshot_(snapshot), report_(report) {}

void Reader::read() {
  const Row* root = find_row("");
  AGENTD_CHECK(root != nullptr, "the table begins with the whole document");
  read_value(*root, document_.value, "");
}

void Reader::read_servers(const Json& value, const std::string& path) {
  read_value(*find_row("mcp.servers"), value, path);
}

void Reader::read_value(const Row& row, const Json& value, const std::string& path) {
  // A section whose members are all commented out is an empty one. Anything else that is null was forgotten,
  // and `bearer:` without a value must not mean that none is asked for.
  if (value.is_null() && row.type != Type::kSection) return wrong(row, path, "has no value");
  switch (row.type) {
    case Type::kSection: return read_section(row, value, path);
    case Type::kItems:
    case Type::kEndpoints: return read_items(row, value, path);
    case Type::kNamed: return read_named(row, value, path);
    case Type::kVariables:
    case Type::kHeaders: return read_variables(row, value, path);
    case Type::kWorkflows: return read_workflow_list(row, value, path);
    case Type::kName: return read_name(row, value, path);
    case Type::kProgram:
    case Type::kString: return read_string(row, value, path);
    case Type::kText: return read_text_or_file(row, value, path);
    case Type::kPath: return read_path(row, value, path);
    case Type::kPaths: return read_paths(row, value, path);
    case Type::kEndpoint:
    case Type::kBase:
    case Type::kWeb:
    case Type::kUrl: return read_url(row, value, path);
    case Type::kListen:
    case Type::kOrigins: return read_addresses(row, value, path);
    case Type::kArguments:
    case Type::kList: return read_list(row, value, path);
    case Type::kChoice: return read_choice(row, value, path);
    case Type::kBoolean:
    case Type::kTrue: return read_boolean(row, value, path);
    case Type::kInteger: return read_integer(row, value, path);
    case Type::kNumber: return read_number(row, value, path);
    case Type::kSize: return read_size(row, value, path);
    case Type::kDuration: return read_duration(row, value, path);
    case Type::kRate: return read_rate(row, value, path);
    case Type::kSecret: return read_secret_value(row, value, path);
  }
}

void Reader::read_section(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_object() && !value.is_null()) return wrong(row, path, "is not a mapping");
  const Json& members = value.is_null() ? Json(Json::object()) : value;
  for (const auto& [name, member] : members.items()) {
    const std::string member_path = join_path(path, name);
    const bool is_name = !name.empty() && name.find_first_of(".[") == std::string::npos;
    const Row* known = is_name ? find_row(join_path(row.path, name)) : nullptr;
    if (known == nullptr) {
      unknown(row, name, member_path);
    } else {
      read_value(*known, member, member_path);
    }
  }
  if (row.bounds.high != 0 && (members.size() < row.bounds.low || members.size() > row.bounds.high)) {
    wrong(row, path, fmt::format("has {} members", members.size()));
  }
  for (const Row* member : members_of(row)) {
    if (member->flag == Flag::kRequired && !members.contains(name_of(*member))) {
      report_.add(path, fmt::format("misses {}", name_of(*member)), expected_of(*member));
    }
  }
}

void Reader::read_items(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_array()) return wrong(row, path, "is not a list");
  if (row.bounds.high != 0 && !in_range(row, path, value.size())) return;
  const Row& section = item_of(row);
  for (std::size_t i = 0; i < value.size(); ++i) {
    append(row);
    const std::string item = fmt::format("{}[{}]", path, i);
    if (row.type == Type::kEndpoints && value[i].is_string()) {
      read_section(section, {{"url", value[i]}}, item);
    } else {
      read_value(section, value[i], item);
    }
  }
}

void Reader::read_named(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_object()) return wrong(row, path, "is not a mapping");
  if (!in_range(row, path, value.size())) return;
  for (const auto& [name, member] : value.items()) {
    const std::string item = join_path(path, name);
    if (!is_server_name(name)) {
      report_.add(item, "its name is not one of a server", "1 to 64 of a-z, A-Z, 0-9, _ and -");
      continue;
    }
    append(row);
    std::get<std::vector<McpServer>*>(row.slot(snapshot_))->back().name = name;
    read_value(item_of(row), member, item);
  }
}

void Reader::read_variables(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_object()) return wrong(row, path, "is not a mapping");
  if (!in_range(row, path, value.size())) return;
  for (const auto& [name, member] : value.items()) read_variable(row, name, member, join_path(path, name));
}

void Reader::read_variable(const Row& row, const std::string& name, const Json& value, const std::string& path) {
  const bool is_header = row.type == Type::kHeaders;
  const auto is_possible = [&](const std::string& text) {
    return is_header ? is_header_value(text) : !text.contains('\0');
  };
  if (is_header ? !is_header_name(name) : !is_variable_name(name)) {
    return report_.add(path, is_header ? "is not the name of a header" : "is not the name of a variable");
  }
  const auto [texts, secrets] = std::get<Variables>(row.slot(snapshot_));
  if (value.is_string()) {
    if (!is_possible(value.get_ref<const std::string&>()))
      return report_.add(path, "has a character that it cannot have");
    texts->emplace_back(name, value.get<std::string>());
    return;
  }
  if (!value.is_object()) return report_.add(path, "is not a text: quote it", "a text, {env: NAME} or {file: PATH}");
  auto secret = secret_of(value, path);
  if (!secret) return;
  if (!is_possible(secret->value)) return report_.add(path, "has a character that it cannot have");
  secrets->emplace_back(name, *std::move(secret));
}

void Reader::read_workflow_list(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_array()) return wrong(row, path, "is not a list");
  for (std::string& named : workflow_paths(value, folder_)) snapshot_.files.push_back(std::move(named));
  snapshot_.workflows = read_workflows(value, document_, folder_, report_);
  for (const Document& workflow : snapshot_.workflows) snapshot_.files.push_back(workflow.file);
}

void Reader::read_string(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong(row, path, "is not a text: quote it");
  std::string text = value.get<std::string>();
  if (text.size() < row.bounds.low || text.size() > row.bounds.high)
    return wrong(row, path, fmt::format("has {} bytes", text.size()));
  if (row.type != Type::kProgram) return put(row, std::move(text));
  auto& list = *std::get<std::vector<std::string>*>(row.slot(snapshot_));
  list.resize(std::max<std::size_t>(list.size(), 1));
  list.front() = std::move(text);
}

void Reader::read_name(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong(row, path, "is not a text: quote it");
  std::string text = value.get<std::string>();
  if (!is_name(text)) return wrong(row, path, "is not a name");
  put(row, std::move(text));
}

void Reader::read_text_or_file(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_object()) return read_string(row, value, path);
  const auto file = value.find("file");
  if (value.size() != 1 || file == value.end() || !file->is_string()) return wrong(row, path, "is not a text");
  snapshot_.files.push_back(resolve_path(folder_, file->get<std::string>()));
  auto text = read_text(snapshot_.files.back(), row.bounds.high);
  if (!text) return report_.add(path, text.error().message);
  put(row, *std::move(text));
}

void Reader::read_path(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong(row, path, "is not a text: quote it");
  const std::string text = value.get<std::string>();
  if (!text.empty()) put(row, resolve_path(folder_, text));
}

void Reader::read_paths(const Row& row, const Json& value, const std::string& path) {
  if (!is_list(row, value, path)) return;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string text = value[i].is_string() ? value[i].get<std::string>() : "";
    if (text.empty()) return wrong(row, fmt::format("{}[{}]", path, i), "is not a path");
    paths.push_back(resolve_path(folder_, text));
  }
  put(row, std::move(paths));
}

void Reader::read_url(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong(row, path, "is not a text");
  const std::string text = value.get<std::string>();
  if (text.empty() && row.type == Type::kUrl) return;
  auto url = row.type == Type::kUrl ? parse_origin(text) : row.type == Type::kWeb ? parse_web(text) : parse_base(text);
  if (!url) return wrong(row, path, url.error().message);
  if (row.type != Type::kEndpoint) return put(row, *std::move(url));
  put(row, std::vector{Endpoint{.url = *std::move(url), .model = "", .api_key = {}}});
}

void Reader::read_addresses(const Row& row, const Json& value, const std::string& path) {
  const auto parse = row.type == Type::kListen ? parse_listen : parse_browser_origin;
  const bool is_list = value.is_array();
  if (is_list && (value.size() < row.bounds.low || value.size() > row.bounds.high)) {
    return report_.add(path, fmt::format("has {} addresses", value.size()),
                       fmt::format("{} to {} of them", row.bounds.low, row.bounds.high));
  }
  std::vector<std::string> addresses;
  for (std::size_t i = 0; i < (is_list ? value.size() : 1); ++i) {
    const Json& item = is_list ? value[i] : value;
    const std::string item_path = is_list ? fmt::format("{}[{}]", path, i) : path;
    auto address = item.is_string() ? parse(item.get_ref<const std::string&>())
                                    : Result<std::string>(fail(Code::kConfig, "is not a text"));
    if (address) {
      addresses.push_back(*std::move(address));
    } else {
      wrong(row, item_path, address.error().message);
    }
  }
  put(row, std::move(addresses));
}

void Reader::read_list(const Row& row, const Json& value, const std::string& path) {
  if (!is_list(row, value, path)) return;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string text = value[i].is_string() ? value[i].get<std::string>() : "";
    const bool known = row.type == Type::kArguments ? value[i].is_string()
                       : row.choices.empty()        ? !text.empty()
                                                    : std::ranges::find(row.choices, text) != row.choices.end();
    if (!known) return wrong(row, fmt::format("{}[{}]", path, i), text.empty() ? "is not a text" : "is not a choice");
    texts.push_back(text);
  }
  if (row.type != Type::kArguments) return put(row, std::move(texts));
  auto& list = *std::get<std::vector<std::string>*>(row.slot(snapshot_));
  list.resize(1);  // the program, which may come later
  std::ranges::move(texts, std::back_inserter(list));
}

void Reader::read_choice(const Row& row, const Json& value, const std::string& path) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const auto found = std::ranges::find(row.choices, text);
  if (found == row.choices.end()) {
    const std::string near = nearest(text, {row.choices.begin(), row.choices.end()});
    return wrong(row, path, near.empty() ? "is not a choice" : fmt::format("is not a choice; did you mean {}?", near));
  }
  std::visit(
      [&](auto member) {
        using T = std::remove_pointer_t<decltype(member)>;
        if constexpr (std::is_enum_v<T>) *member = static_cast<T>(found - row.choices.begin());
        if constexpr (std::is_same_v<T, std::string>) *member = text;
      },
      row.slot(snapshot_));
}

void Reader::read_boolean(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_boolean()) return wrong(row, path, "is neither true nor false");
  if (row.type == Type::kTrue && !value.get<bool>()) return wrong(row, path, "is false");
  put(row, value.get<bool>());
}

void Reader::read_integer(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_number_integer()) return wrong(row, path, "is not an integer");
  if (!value.is_number_unsigned()) return wrong(row, path, "is negative");
  if (in_range(row, path, value.get<std::uint64_t>())) put(row, value.get<std::uint64_t>());
}

void Reader::read_number(const Row& row, const Json& value, const std::string& path) {
  if (!value.is_number()) return wrong(row, path, "is not a number");
  const auto number = value.get<double>();
  if (number < static_cast<double>(row.bounds.low)) return wrong(row, path, "is too small");
  if (number > static_cast<double>(row.bounds.high)) return wrong(row, path, "is too large");
  if (std::holds_alternative<double*>(row.slot(snapshot_))) {
    put(row, number);
  } else {
    put(row, std::optional(number));
  }
}

void Reader::read_size(const Row& row, const Json& value, const std::string& path) {
  const auto size = parse_size(value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "");
  if (!size) return wrong(row, path, "is not a size");
  const auto bytes = static_cast<std::uint64_t>(*size);
  if (in_range(row, path, bytes)) put(row, bytes);
}

void Reader::read_duration(const Row& row, const Json& value, const std::string& path) {
  const auto duration = parse_duration(value.is_string() ? value.get<std::string>() : "");
  if (!duration) return wrong(row, path, value.is_number() ? "has no unit" : "is not a duration");
  if (in_range(row, path, static_cast<std::uint64_t>(*duration))) put(row, *duration);
}

void Reader::read_rate(const Row& row, const Json& value, const std::string& path) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return wrong(row, path, "is not a rate");
  std::uint64_t burst = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, burst);
  if (error != std::errc{} || end != text.data() + slash) return wrong(row, path, "does not begin with a whole number");
  const auto per = parse_duration(text.substr(slash + 1));
  if (!per) return wrong(row, path, "does not end with a duration");
  if (!in_range(row, path, burst)) return;
  if (static_cast<std::uint64_t>(*per) < kLeastRateMs) return wrong(row, path, "has too short a duration");
  if (static_cast<std::uint64_t>(*per) > kMostRateMs) return wrong(row, path, "has too long a duration");
  put(row, std::optional(Rate{.burst = burst, .per_ms = *per}));
}

void Reader::read_secret_value(const Row& row, const Json& value, const std::string& path) {
  if (auto secret = secret_of(value, path)) put(row, std::move(secret));
}

std::optional<Secret> Reader::secret_of(const Json& value, const std::string& path) {
  auto secret = read_secret(value, env_, folder_);
  if (!secret) {
    report_.add(path, secret.error().message);
    return {};
  }
  if (secret->source.starts_with(kFromFile)) snapshot_.files.push_back(secret->source.substr(kFromFile.size()));
  return *std::move(secret);
}

void Reader::unknown(const Row& section, const std::string& name, const std::string& path) {
  if (is_unsupported(path)) return report_.add(path, "is not supported by this version");
  std::vector<std::string> here;
  for (const Row* member : members_of(section)) here.emplace_back(name_of(*member));
  std::string near = nearest(name, here);
  if (!near.empty()) near = join_path(section.path, near);
  if (near.empty()) {
    // The right key in the wrong section.
    const auto elsewhere = std::ranges::find(table(), name, [](const Row& row) { return name_of(row); });
    if (elsewhere != table().end()) near = elsewhere->path;
  }
  report_.add(path, near.empty() ? "is not a known key" : fmt::format("is not a known key; did you mean {}?", near),
              near.empty() ? expected_of(section) : "");
}

void Reader::wrong(const Row& row, const std::string& path, std::string message) {
  report_.add(path, std::move(message), expected_of(row));
}

bool Reader::in_range(const Row& row, const std::string& path, std::uint64_t value) {
  if (value >= row.bounds.low && value <= row.bounds.high) return true;
  wrong(row, path, value < row.bounds.low ? "is too small" : "is too large");
  return false;
}

bool Reader::is_list(const Row& row, const Json& value, const std::string& path) {
  if (value.is_array()) return in_range(row, path, value.size());
  wrong(row, path, "is not a list");
  return false;
}

void Reader::append(const Row& list) {
  std::visit(
      [](auto slot) {
        if constexpr (requires { slot->emplace_back(); }) slot->emplace_back();
      },
      list.slot(snapshot_));
}

template <class T>
void Reader::put(const Row& row, T value) {
  const Slot slot = row.slot(snapshot_);
  AGENTD_CHECK(std::holds_alternative<T*>(slot), "a row's type is that of its slot");
  *std::get<T*>(slot) = std::move(value);
}

}  // namespace agentd::config
