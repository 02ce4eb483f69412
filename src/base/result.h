// Result<T>: a value, or an Error that says what is wrong in a form every transport can render.
//
// Thread rule: values; share them like any other value. Nothing here throws. A Code is closed: a new one
// needs its word in base/reason.h and its row in wire/error_map.h, the only place that knows wire numbers.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace agentd {

enum class Code : std::uint8_t {
  // JSON-RPC's own.
  kParse,           // not JSON, too deep, or not UTF-8
  kInvalidRequest,  // JSON, but no JSON-RPC envelope
  kMethodNotFound,
  kInvalidParams,
  kInternal,
  // A2A 1.0.1 section 5.4.
  kTaskNotFound,
  kTaskNotCancelable,
  kPushNotSupported,
  kUnsupportedOperation,
  kContentTypeNotSupported,
  kExtendedCardNotConfigured,
  kExtensionSupportRequired,
  kVersionNotSupported,
  // Ours (access.md section 3, events.md section 2, command.md section 1).
  kUnauthenticated,
  kPermissionDenied,
  kRateLimited,
  kDraining,
  kExtensionNotDeclared,
  kExtensionNotActivated,
  kCommandNotActivated,
  kExtensionNotMarked,
  kCommandEnvelopeAmbiguous,
  kCommandTaskId,
  kUnknownOp,
  kInvalidCommandArgs,
  kIntrospectionDisabled,
  // Never on the wire as they are: start-up, store and child processes.
  kConfig,
  kUnavailable,  // the thing behind us (store, address, peer) cannot serve now
  kTimeout,
};

// One offending member of an input, as in google.rpc.BadRequest.
struct FieldViolation {
  std::string field;  // a path such as "params.fromSeq"
  std::string description;
  bool operator==(const FieldViolation&) const = default;
};

struct Error {
  Code code = Code::kInternal;
  std::string message;  // for a person: what is wrong, where, what to do
  std::vector<FieldViolation> violations = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};  // ErrorInfo.metadata, in order
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// `return fail(Code::kTimeout, "…");` from any function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected(Error{.code = code, .message = std::move(message)});
}

}  // namespace agentd
