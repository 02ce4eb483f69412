// Access: who a request comes from (access.md section 1), decided from its head alone, against one immutable set of rules.
//
// Thread-safe: immutable after construction. Cost: one constant-time comparison per configured credential. A credential that
// is presented and wrong is a failure; it never falls back to what the caller would be without it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "feed/visibility.h"

namespace agentd::access {

struct Caller {
  feed::Viewer viewer;  // what every read is decided by
  config::Role role = config::Role::kUser;
};

[[nodiscard]] std::string_view to_string(config::Role role);

// What of a request's head matters here. The views are used during the call only.
struct Presented {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> host;
  bool loopback = false;
};

class Access final {
 public:
  explicit Access(const config::Snapshot& config);

  // False for a browser's foreign page (any Origin; "null" is a browser too) and for a Host that is not ours (DNS
  // rebinding): such a request gets 403 and an empty body, whatever else it carries.
  [[nodiscard]] bool from_here(const Presented& presented) const;

  // Errors: kUnauthenticated; metadata `invalid_token` is set when a credential was presented and is wrong.
  [[nodiscard]] Result<Caller> identify(const Presented& presented) const;

 private:
  struct Rule {
    std::string secret;
    Caller caller;
  };

  std::vector<Rule> bearers_;  // the operator's first, then the rules in order
  std::optional<Caller> any_;
  bool implicit_operator_ = false;
  std::vector<std::string> hosts_;  // lower case, without port
};

}  // namespace agentd::access
