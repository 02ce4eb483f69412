#include "client/rpc_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace agentd::client {
namespace {

constexpr std::string_view kRetryAfter = "retryAfterSeconds";

struct ReasonRow {
  std::string_view reason;
  Code code;
};
constexpr ReasonRow kReasons[] = {
    {"TASK_NOT_FOUND", Code::kTaskNotFound},
    {"TASK_NOT_CANCELABLE", Code::kTaskNotCancelable},
    {"PUSH_NOTIFICATION_NOT_SUPPORTED", Code::kPushNotSupported},
    {"UNSUPPORTED_OPERATION", Code::kUnsupportedOperation},
    {"CONTENT_TYPE_NOT_SUPPORTED", Code::kContentTypeNotSupported},
    {"EXTENDED_AGENT_CARD_NOT_CONFIGURED", Code::kExtendedCardNotConfigured},
    {"EXTENSION_SUPPORT_REQUIRED", Code::kExtensionSupportRequired},
    {"VERSION_NOT_SUPPORTED", Code::kVersionNotSupported},
    {"UNAUTHENTICATED", Code::kUnauthenticated},
    {"PERMISSION_DENIED", Code::kPermissionDenied},
    {"RATE_LIMITED", Code::kRateLimited},
    {"DRAINING", Code::kDraining},
    {"EXTENSION_NOT_DECLARED", Code::kExtensionNotDeclared},
    {"EXTENSION_NOT_ACTIVATED", Code::kExtensionNotActivated},
    {"EXTENSION_NOT_MARKED", Code::kExtensionNotMarked},
    {"COMMAND_ENVELOPE_AMBIGUOUS", Code::kCommandEnvelopeAmbiguous},
    {"COMMAND_TASK_ID", Code::kCommandTaskId},
    {"UNKNOWN_OP", Code::kUnknownOp},
    {"INVALID_COMMAND_ARGS", Code::kInvalidCommandArgs},
    {"INTROSPECTION_DISABLED", Code::kIntrospectionDisabled},
};

struct NumberRow {
  std::int64_t number;
  Code code;
};
constexpr NumberRow kNumbers[] = {
    {-32700, Code::kParse},
    {-32600, Code::kInvalidRequest},
    {-32601, Code::kMethodNotFound},
    {-32602, Code::kInvalidParams},
    {-32603, Code::kInternal},
    {-32001, Code::kTaskNotFound},
    {-32002, Code::kTaskNotCancelable},
    {-32003, Code::kPushNotSupported},
    {-32004, Code::kUnsupportedOperation},
    {-32005, Code::kContentTypeNotSupported},
    {-32007, Code::kExtendedCardNotConfigured},
    {-32008, Code::kExtensionSupportRequired},
    {-32009, Code::kVersionNotSupported},
    {-31401, Code::kUnauthenticated},
    {-31403, Code::kPermissionDenied},
};

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void take_detail(const Json& detail, Error& error) {
  if (!detail.is_object()) return;
  const std::string reason = text(detail, "reason");
  if (const auto* row = std::ranges::find(kReasons, reason, &ReasonRow::reason); row != std::end(kReasons)) {
    error.code = row->code;
  }
  if (const auto metadata = detail.find("metadata"); metadata != detail.end() && metadata->is_object()) {
    for (const auto& [key, value] : metadata->items()) {
      error.metadata.emplace_back(key, value.is_string() ? value.get<std::string>() : dump_json(value));
    }
  }
  if (const auto list = detail.find("fieldViolations"); list != detail.end() && list->is_array()) {
    for (const auto& miss : *list) {
      if (miss.is_object()) error.violations.push_back({text(miss, "field"), text(miss, "description")});
    }
  }
}

Code code_of_status(int status) {
  switch (status) {
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 429: return Code::kRateLimited;
    default: return status >= 500 ? Code::kUnavailable : Code::kInternal;
  }
}

const std::string* retry_after(const Error& error) {
  const auto found = std::ranges::find(error.metadata, kRetryAfter, &std::pair<std::string, std::string>::first);
  return found == error.metadata.end() ? nullptr : &found->second;
}

}  // namespace

Error decode_rpc_error(const Json& error) {
  Error out{.code = Code::kInternal, .message = "an error without a message"};
  if (!error.is_object()) return out;
  if (const auto number = error.find("code"); number != error.end() && number->is_number_integer()) {
    const auto* row = std::ranges::find(kNumbers, number->get<std::int64_t>(), &NumberRow::number);
    if (row != std::end(kNumbers)) out.code = row->code;
  }
  if (auto message = text(error, "message"); !message.empty()) out.message = std::move(message);
  if (const auto data = error.find("data"); data != error.end() && data->is_array()) {
    for (const auto& detail : *data) take_detail(detail, out);
  }
  return out;
}

Error decode_http_error(const ResponseHead& head, std::string_view body) {
  Error out{.code = code_of_status(head.status), .message = fmt::format("the server answers HTTP {}", head.status)};
  if (const auto json = parse_json(body); json && json->is_object() && json->contains("error")) {
    out = decode_rpc_error((*json)["error"]);
    // A status that says more than the number does (a drained or limited server answers -32603).
    if (out.code == Code::kInternal) out.code = code_of_status(head.status);
  } else if (head.status < 500 && head.status != 429) {
    out.message += "; is an agentd listening there?";
  }
  if (const auto header = head.header("retry-after"); !header.empty() && retry_after(out) == nullptr) {
    out.metadata.emplace_back(kRetryAfter, header);
  }
  return out;
}

std::int64_t retry_after_ms(const Error& error) {
  constexpr std::int64_t kMostSeconds = 300;
  const std::string* given = retry_after(error);
  if (given == nullptr) return 0;
  std::int64_t seconds = 0;
  const auto [end, code] = std::from_chars(given->data(), given->data() + given->size(), seconds);
  if (code == std::errc::result_out_of_range) return kMostSeconds * 1000;
  if (code != std::errc() || end != given->data() + given->size()) return 0;  // a date: the back-off is enough
  return std::clamp<std::int64_t>(seconds, 0, kMostSeconds) * 1000;
}

}  // namespace agentd::client
