// The target of a request taken apart and decoded, and forms put together. Pure functions on bytes from outside.
//
// Decoding is strict, because what is compared with a route or a right must be what the client meant: a
// malformed escape, a NUL or text that is not UTF-8 is refused, never guessed. Dot segments are left as they
// are.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace agentd::http {

struct Target {
  std::string path = {};                                        // decoded: "/tasks/a b"
  std::vector<std::pair<std::string, std::string>> query = {};  // decoded, in order; "a" is {"a", ""}
  std::string authority = {};                                   // of an absolute target, else empty
};

using Query = std::vector<std::pair<std::string, std::string>>;

// "a=b&c", decoded, in order: a query, or a body of application/x-www-form-urlencoded. Errors: kInvalidRequest.
[[nodiscard]] Result<Query> parse_query(std::string_view text);
// The opposite; and one name or value of it.
[[nodiscard]] std::string form_of(const Query& fields);
[[nodiscard]] std::string to_form_text(std::string_view text);

// `target` in origin form ("/path?query"), absolute form ("http://host/path"), or "*" for OPTIONS. Errors:
// kInvalidRequest.
[[nodiscard]] Result<Target> parse_target(std::string_view target, std::string_view method);

}  // namespace agentd::http
