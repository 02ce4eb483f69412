// From an error on the wire to an Error: the counterpart of the server's table, for JSON-RPC and plain HTTP.
// Pure. What no row knows becomes kInternal and keeps its message.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "client/http.h"

namespace agentd::client {

// `error` is the member `error` of a JSON-RPC response: its ErrorInfo's reason decides, else its number.
// The violations of its BadRequest come along.
[[nodiscard]] Error decode_rpc_error(const Json& error);

// An answer that is no JSON-RPC result: decoded from its body if that holds an error, else from its status.
// Retry-After becomes the metadata `retryAfterSeconds` unless that is there.
[[nodiscard]] Error decode_http_error(const ResponseHead& head, std::string_view body);

// The seconds that the server asks to wait, as milliseconds (at most 5 minutes); 0 = it asks for none.
[[nodiscard]] std::int64_t retry_after_ms(const Error& error);

}  // namespace agentd::client
