// The one table from Code to what a transport says: JSON-RPC code, HTTP status, and the domain of its reason (a2a.md section
// 4.1, access.md section 3). The reason itself is base/reason.h.
#pragma once

#include <string_view>

#include "base/result.h"

namespace agentd::wire {

struct ErrorRow {
  int json_rpc;
  int http;                 // under JSON-RPC; 200 unless the refusal is the transport's own
  std::string_view domain;  // "" = JSON-RPC's own error, no ErrorInfo
};

inline constexpr std::string_view kA2a = "a2a-protocol.org";
inline constexpr std::string_view kOurs = "agentd.dev";

[[nodiscard]] constexpr ErrorRow error_row(Code code) {
  switch (code) {
    case Code::kParse: return {-32700, 200, ""};
    case Code::kInvalidRequest: return {-32600, 200, ""};
    case Code::kMethodNotFound: return {-32601, 200, ""};
    case Code::kInvalidParams: return {-32602, 200, ""};
    case Code::kInternal: return {-32603, 200, kOurs};
    case Code::kTaskNotFound: return {-32001, 200, kA2a};
    case Code::kTaskNotCancelable: return {-32002, 200, kA2a};
    case Code::kPushNotSupported: return {-32003, 200, kA2a};
    case Code::kUnsupportedOperation: return {-32004, 200, kA2a};
    case Code::kContentTypeNotSupported: return {-32005, 200, kA2a};
    case Code::kExtendedCardNotConfigured: return {-32007, 200, kA2a};
    case Code::kExtensionSupportRequired: return {-32008, 200, kA2a};
    case Code::kVersionNotSupported: return {-32009, 200, kA2a};
    case Code::kUnauthenticated: return {-31401, 401, kOurs};
    case Code::kPermissionDenied: return {-31403, 403, kOurs};
    case Code::kRateLimited: return {-32603, 429, kOurs};
    case Code::kDraining: return {-32603, 200, kOurs};
    case Code::kExtensionNotDeclared: return {-32601, 200, kOurs};
    case Code::kExtensionNotActivated: return {-32601, 200, kOurs};
    case Code::kCommandNotActivated: return {-32602, 200, kOurs};
    case Code::kExtensionNotMarked: return {-32602, 200, kOurs};
    case Code::kCommandEnvelopeAmbiguous: return {-32602, 200, kOurs};
    case Code::kCommandTaskId: return {-32602, 200, kOurs};
    case Code::kUnknownOp: return {-32602, 200, kOurs};
    case Code::kInvalidCommandArgs: return {-32602, 200, kOurs};
    case Code::kIntrospectionDisabled: return {-32004, 200, kOurs};
    case Code::kConfig: return {-32603, 200, kOurs};
    case Code::kUnavailable: return {-32603, 200, kOurs};
    case Code::kTimeout: return {-32603, 200, kOurs};
  }
  return {-32603, 200, kOurs};
}

}  // namespace agentd::wire
