#include "a2a/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "a2a/states.h"
#include "base/time_text.h"

namespace agentd::a2a {
namespace {

using enum FieldType;
using std::string_view;

constexpr bool kRequired = true;
constexpr bool kRepeated = true;
constexpr std::size_t kMaxViolations =
    100;  // named of one request: an array of a million wrong parts is no reason for more

constexpr std::array kPartContent = {string_view("text"), string_view("raw"), string_view("url"), string_view("data")};
constexpr std::array kPartFields = {Field{"text", kString},     Field{"raw", kBytes},       Field{"url", kString},
                                    Field{"data", kValue},      Field{"metadata", kStruct}, Field{"filename", kString},
                                    Field{"mediaType", kString}};
constexpr Shape kPart = {kPartFields, kPartContent};

constexpr std::array kMessageFields = {Field{"messageId", kString, kRequired},
                                       Field{"contextId", kString},
                                       Field{"taskId", kString},
                                       Field{"role", kRole, kRequired},
                                       Field{"parts", FieldType::kMessage, kRequired, kRepeated, &kPart},
                                       Field{"metadata", kStruct},
                                       Field{"extensions", kString, false, kRepeated},
                                       Field{"referenceTaskIds", kString, false, kRepeated}};

constexpr std::array kAuthenticationFields = {Field{"scheme", kString, kRequired}, Field{"credentials", kString}};
constexpr Shape kAuthentication = {kAuthenticationFields};
constexpr std::array kPushConfigFields = {
    Field{"tenant", kString}, Field{"id", kString},
    Field{"taskId", kString}, Field{"url", kString, kRequired},
    Field{"token", kString},  Field{"authentication", FieldType::kMessage, false, false, &kAuthentication}};
constexpr Shape kPushConfig = {kPushConfigFields};

constexpr std::array kConfigurationFields = {
    Field{"acceptedOutputModes", kString, false, kRepeated},
    Field{"taskPushNotificationConfig", FieldType::kMessage, false, false, &kPushConfig},
    Field{"historyLength", kInt32}, Field{"returnImmediately", kBool}};
constexpr Shape kConfiguration = {kConfigurationFields};

constexpr Shape kMessageShape = {kMessageFields};
constexpr std::array kSendFields = {
    Field{"tenant", kString}, Field{"message", FieldType::kMessage, kRequired, false, &kMessageShape},
    Field{"configuration", FieldType::kMessage, false, false, &kConfiguration}, Field{"metadata", kStruct}};
constexpr std::array kGetFields = {Field{"tenant", kString}, Field{"id", kString, kRequired},
                                   Field{"historyLength", kInt32}};
constexpr std::array kListFields = {Field{"tenant", kString},
                                    Field{"contextId", kString},
                                    Field{"status", kState},
                                    Field{"pageSize", kInt32},
                                    Field{"pageToken", kString},
                                    Field{"historyLength", kInt32},
                                    Field{"statusTimestampAfter", kTimestamp},
                                    Field{"includeArtifacts", kBool}};
constexpr std::array kIdFields = {Field{"tenant", kString}, Field{"id", kString, kRequired},
                                  Field{"metadata", kStruct}};

std::string to_snake(string_view camel) {
  std::string out;
  for (const char c : camel) {
    if (c >= 'A' && c <= 'Z') {
      out += '_';
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

std::optional<std::int32_t> to_int32(const Json& value) {
  std::int64_t number = 0;
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int32_t>::max()) return {};
    number = value.get<std::int64_t>();
  } else if (value.is_number_float() || value.is_string()) {
    const std::string text = value.is_string() ? value.get<std::string>() : fmt::format("{:.0f}", value.get<double>());
    if (value.is_number_float() && std::stod(text) != value.get<double>()) return {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return {};
  } else {
    return {};
  }
  if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max()) return {};
  return static_cast<std::int32_t>(number);
}

// Standard base64 with its padding, from either alphabet with or without it.
std::optional<std::string> to_base64(string_view text) {
  std::string out;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const char standard = c == '-' ? '+' : c == '_' ? '/' : c;
    const bool known = (standard >= 'A' && standard <= 'Z') || (standard >= 'a' && standard <= 'z') ||
                       (standard >= '0' && standard <= '9') || standard == '+' || standard == '/';
    if (!known) return {};
    out += standard;
  }
  if (out.size() % 4 == 1) return {};
  while (out.size() % 4 != 0) out += '=';
  return out;
}

class Reader {
 public:
  Json message(const Shape& shape, const Json& value, const std::string& path) {
    if (!value.is_object()) {
      miss(path, "must be an object");
      return {};
    }
    Json out = Json::object();
    for (const Field& field : shape.fields) {
      const Json* member = find(shape, value, field);
      const std::string at = fmt::format("{}.{}", path, field.name);
      if (member == nullptr) {
        if (field.required) miss(at, "is required");
      } else if (field.repeated) {
        out[std::string(field.name)] = list(field, *member, at);
      } else {
        out[std::string(field.name)] = single(field, *member, at);
      }
    }
    if (!shape.one_of.empty()) {
      const auto present = std::ranges::count_if(shape.one_of, [&](string_view name) { return out.contains(name); });
      if (present != 1) miss(path, fmt::format("must have exactly one of {}", fmt::join(shape.one_of, ", ")));
    }
    return out;
  }

  std::vector<FieldViolation> violations;

 private:
  static const Json* find(const Shape& shape, const Json& value, const Field& field) {
    auto it = value.find(std::string(field.name));
    if (it == value.end()) it = value.find(to_snake(field.name));
    if (it == value.end() || (it->is_null() && field.type != kValue)) return nullptr;
    // An empty string is proto3's way to leave a field out; where presence itself means something, it is a value.
    const bool presence = field.required || std::ranges::find(shape.one_of, field.name) != shape.one_of.end();
    if (field.type == kString && !presence && *it == "") return nullptr;
    return &*it;
  }

  Json list(const Field& field, const Json& value, const std::string& path) {
    Json out = Json::array();
    if (!value.is_array()) {
      miss(path, "must be an array");
    } else if (value.empty() && field.required) {
      miss(path, "must have at least one element");
    } else {
      for (std::size_t i = 0; i < value.size(); ++i)
        out.push_back(single(field, value[i], fmt::format("{}[{}]", path, i)));
    }
    return out;
  }

  Json single(const Field& field, const Json& value, const std::string& path) {
    switch (field.type) {
      case kString:
        if (!value.is_string()) return miss(path, "must be a string");
        if (field.required && value.get_ref<const std::string&>().empty()) return miss(path, "must not be empty");
        return value;
      case kBytes:
        if (value.is_string()) {
          if (auto text = to_base64(value.get_ref<const std::string&>())) return *text;
        }
        return miss(path, "must be base64");
      case kInt32:
        if (const auto number = to_int32(value)) return *number;
        return miss(path, "must be a 32-bit integer");
      case kBool: return value.is_boolean() ? value : miss(path, "must be true or false");
      case kState: return state(value, path);
      case kRole: return role(value, path);
      case kTimestamp:
        if (value.is_string()) {
          if (const auto ms = parse_rfc3339(value.get_ref<const std::string&>())) return *ms;
        }
        return miss(path, "must be an RFC 3339 time such as 2026-01-31T09:08:07.123Z");
      case kStruct: return value.is_object() ? value : miss(path, "must be an object");
      case kValue: return value;
      case FieldType::kMessage: return message(*field.shape, value, path);
    }
    return {};
  }

  Json state(const Json& value, const std::string& path) {
    if (value.is_string()) {
      if (const auto known = task_state(value.get_ref<const std::string&>())) return to_string(*known);
    } else if (const auto number = to_int32(value); number && *number >= 0 && *number <= 8) {
      return to_string(static_cast<TaskState>(*number));
    }
    return miss(path, "must be a task state such as TASK_STATE_WORKING");
  }

  Json role(const Json& value, const std::string& path) {
    constexpr std::array kRoles = {string_view("ROLE_USER"), string_view("ROLE_AGENT")};
    if (value.is_string() && std::ranges::find(kRoles, value.get_ref<const std::string&>()) != kRoles.end())
      return value;
    if (const auto number = to_int32(value); value.is_number() && number && (*number == 1 || *number == 2)) {
      return kRoles[static_cast<std::size_t>(*number - 1)];
    }
    return miss(path, "must be ROLE_USER or ROLE_AGENT");
  }

  Json miss(const std::string& path, std::string description) {
    if (violations.size() < kMaxViolations) violations.push_back({path, std::move(description)});
    return {};
  }
};

}  // namespace

const Shape kSendMessageRequest = {kSendFields};
const Shape kGetTaskRequest = {kGetFields};
const Shape kListTasksRequest = {kListFields};
const Shape kTaskIdRequest = {kIdFields};
const Shape kMessage = {kMessageFields};

Result<Json> read_shape(const Shape& shape, const Json& value, std::string_view path) {
  Reader reader;
  Json out = reader.message(shape, value, std::string(path));
  if (reader.violations.empty()) return out;
  const FieldViolation& first = reader.violations.front();
  return std::unexpected(Error{.code = Code::kInvalidParams,
                               .message = fmt::format("{} {}", first.field, first.description),
                               .violations = std::move(reader.violations)});
}

}  // namespace agentd::a2a
