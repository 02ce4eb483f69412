// Rpc: JSON-RPC calls to one daemon, the answers checked and the errors decoded.
//
// Blocking, see http.h. Immutable after construction, so threads may share one. Every request carries
// A2A-Version 1.0, the extensions of the call, and the bearer token if there is one. Errors: what the server
// answered (rpc_error.h); kUnavailable or kTimeout when it was not reached; kParse when it answered
// something that is not JSON-RPC. The token stands in no error message.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "client/http.h"

namespace agentd::client {

inline constexpr std::string_view kEventsUri = "https://agentd.dev/a2a/ext/events";
inline constexpr std::string_view kCommandUri = "https://agentd.dev/a2a/ext/command";
inline constexpr std::string_view kAnnotationsUri = "https://agentd.dev/a2a/ext/task-annotations";

struct Endpoint {
  std::string url;
  std::string token = {};  // empty = none
  std::string ca = {};     // as in HttpRequest
  bool stored = false;     // the token is one that `agentd login` kept (credentials.h)
};

struct Call {
  std::string method;
  Json params = Json::object();
  std::vector<std::string_view> extensions = {};
  Deadlines deadlines = {};
};

// What a streaming call delivers. `result` gets the `result` member of each response. False ends the call.
struct RpcSink {
  std::function<bool(const Json&)> result;
  std::function<bool(std::string_view)> comment = [](std::string_view) { return true; };
};

class Rpc final {
 public:
  Rpc(Endpoint endpoint, const Stop& stop) : endpoint_(std::move(endpoint)), stop_(stop) {}

  // The `result` of the answer.
  [[nodiscard]] Result<Json> call(const Call& call) const;
  // A streaming method. An answer that is plain JSON is one result (or the error).
  [[nodiscard]] Result<StreamEnd> stream(const Call& call, const RpcSink& sink) const;

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 private:
  [[nodiscard]] HttpRequest request_for(const Call& call, std::string_view accept) const;

  Endpoint endpoint_;
  const Stop& stop_;
};

}  // namespace agentd::client
