// JSON-RPC 2.0 as A2A uses it: one envelope in, one envelope out. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace agentd::wire {

struct Envelope {
  Json id;  // a string or an integer, kept exactly as it came
  std::string method;
  Json params;  // an object; null when absent
  std::optional<Error> unkept =
      {};  // a number in it does not fit 64 bits: refused (kInvalidParams) before params are read
};

// A refusal, and the id it is answered under: null until the envelope's own is known to be sound.
struct Refusal {
  Error error;
  Json id;
};

// Errors: kParse, kInvalidRequest (no envelope: array, wrong version, no method, id missing, null or fractional),
// kInvalidParams (params that are no object).
[[nodiscard]] std::expected<Envelope, Refusal> read_envelope(std::string_view body);

[[nodiscard]] std::string result_text(const Json& id, const Json& result);
[[nodiscard]] std::string result_text(const Json& id, const JsonText& result);
// error{code, message, data: [BadRequest, ErrorInfo]}
[[nodiscard]] Json error_json(const Error& error);
[[nodiscard]] http::Response result_response(std::string result_text);
// With the status and the headers that the refusal asks for (WWW-Authenticate, Retry-After).
[[nodiscard]] http::Response error_response(const Json& id, const Error& error);

}  // namespace agentd::wire
