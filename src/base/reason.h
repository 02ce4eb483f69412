// The word of each refusal, by which programs know it: the `reason` of its ErrorInfo (a2a.md section 4.1, access.md section 3),
// and the outcome in the audit trail.
#pragma once

#include <string_view>

#include "base/result.h"

namespace agentd {

// "" for JSON-RPC's own errors, which have none.
[[nodiscard]] constexpr std::string_view reason_of(Code code) {
  switch (code) {
    case Code::kParse:
    case Code::kInvalidRequest:
    case Code::kMethodNotFound:
    case Code::kInvalidParams: return "";
    case Code::kInternal:
    case Code::kConfig: return "INTERNAL";
    case Code::kTaskNotFound: return "TASK_NOT_FOUND";
    case Code::kTaskNotCancelable: return "TASK_NOT_CANCELABLE";
    case Code::kPushNotSupported: return "PUSH_NOTIFICATION_NOT_SUPPORTED";
    case Code::kUnsupportedOperation: return "UNSUPPORTED_OPERATION";
    case Code::kContentTypeNotSupported: return "CONTENT_TYPE_NOT_SUPPORTED";
    case Code::kExtendedCardNotConfigured: return "EXTENDED_AGENT_CARD_NOT_CONFIGURED";
    case Code::kExtensionSupportRequired: return "EXTENSION_SUPPORT_REQUIRED";
    case Code::kVersionNotSupported: return "VERSION_NOT_SUPPORTED";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kRateLimited: return "RATE_LIMITED";
    case Code::kDraining: return "DRAINING";
    case Code::kExtensionNotDeclared: return "EXTENSION_NOT_DECLARED";
    case Code::kExtensionNotActivated:
    case Code::kCommandNotActivated: return "EXTENSION_NOT_ACTIVATED";
    case Code::kExtensionNotMarked: return "EXTENSION_NOT_MARKED";
    case Code::kCommandEnvelopeAmbiguous: return "COMMAND_ENVELOPE_AMBIGUOUS";
    case Code::kCommandTaskId: return "COMMAND_TASK_ID";
    case Code::kUnknownOp: return "UNKNOWN_OP";
    case Code::kInvalidCommandArgs: return "INVALID_COMMAND_ARGS";
    case Code::kIntrospectionDisabled: return "INTROSPECTION_DISABLED";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kTimeout: return "TIMEOUT";
  }
  return "INTERNAL";
}

}  // namespace agentd
