// What the grants of this client have in common: a form is posted, a JSON object comes back (RFC 6749). Blocking, see http.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "client/http.h"
#include "client/rpc.h"

namespace agentd::client {

struct Grant {
  std::string token;  // a secret, of visible ASCII
  std::string scope;  // what was granted: perhaps less than was asked for
  std::int64_t expires_s = 0;
};

[[nodiscard]] Result<HttpResponse> post_form(const Endpoint& daemon, std::string_view path, std::string form,
                                             const Stop& stop);

// The answer as an object; an empty one when it is none. Of its members: "" and `otherwise` when there is no such.
[[nodiscard]] Json object_of(std::string_view body);
[[nodiscard]] std::string text_of(const Json& object, const char* key);
[[nodiscard]] std::int64_t seconds_of(const Json& object, const char* key, std::int64_t otherwise);

// Error kParse: it holds no token that could be sent.
[[nodiscard]] Result<Grant> grant_of(const HttpResponse& response);
[[nodiscard]] std::unexpected<Error> no_such_answer(std::string_view what);

}  // namespace agentd::client
