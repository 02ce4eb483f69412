// Access: who a request comes from (access.md section 1), decided from its head alone, against one immutable set of rules and
// the sessions that are good now.
//
// Thread-safe: immutable after construction. Cost: one constant-time comparison per configured credential, or one look-up of a
// session. A credential that is presented and wrong is a failure; it never falls back to what the caller would be without it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/caller.h"
#include "access/sessions.h"
#include "base/clock.h"
#include "base/rate.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "net/tls.h"

namespace agentd::access {

// What of a request's head matters here. The views are used during the call only.
struct Presented {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> origin;  // of a page, other than the daemon's own
  std::optional<std::string_view> host;
  std::optional<std::string_view> cookie;  // the token of a session, that a browser has
  std::optional<std::string_view> csrf;    // what its page sends beside it
  bool changes = false;                    // it asks for more than to be told something
  bool page = false;                       // a page of somewhere else has a browser ask, whether it says which or not
  bool loopback = false;
  const net::Certificate* certificate = nullptr;  // that a TLS peer showed, verified
  bool unix_socket = false;  // of the daemon's own user or root, or it would not have been accepted
};

// kUnauthenticated, as it is answered when what was presented is not good, or no longer.
[[nodiscard]] std::unexpected<Error> invalid_token(std::string message);

class Access final {
 public:
  // `sessions` and `clock` outlive this.
  Access(const config::Snapshot& config, const Sessions& sessions, const Clock& clock);

  // False for a page of an origin that is not listed (a2a.cors.origins; "null" is a browser too) and for a Host that is
  // not ours (DNS rebinding): such a request gets 403 and an empty body, whatever else it carries.
  [[nodiscard]] bool from_here(const Presented& presented) const;

  // A page is nobody without a credential, also where a program of this machine would be the operator. A cookie is one for
  // a page of the daemon's own alone, and for a change only with the CSRF token of its session.
  // Errors: kPermissionDenied for a certificate that no rule matches, and, with metadata `header`, for a CSRF token that is
  // not there or wrong. kUnauthenticated; metadata `invalid_token` is set when a credential was presented and is wrong.
  [[nodiscard]] Result<Caller> identify(const Presented& presented) const;

 private:
  struct Rule {
    std::string secret;
    Caller caller;
  };

  [[nodiscard]] Result<Caller> by_session(std::string_view token) const;
  [[nodiscard]] Result<Caller> by_certificate(const net::Certificate& certificate) const;

  const Sessions& sessions_;
  const Clock& clock_;
  bool device_grant_;
  std::vector<Rule> bearers_;                        // the operator's first, then the rules in order
  std::vector<config::PrincipalRule> certificates_;  // those that a certificate can match, in order
  std::map<std::string, Caller> users_;              // of rules, by principal
  bool has_rules_ = false;
  std::optional<Caller> any_;
  bool implicit_operator_ = false;
  std::vector<std::string> origins_;
  std::vector<std::string> hosts_;  // lower case, without port
};

}  // namespace agentd::access
