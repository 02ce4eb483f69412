// Approval: the page on which an operator answers the sign-ins that wait, in a browser and without a script (access.md sections 4
// and 6). What it does is the op of the same name, and is audited as that.
//
// An operator is known here by whatever a request may carry. Of what a browser sends of itself, a cookie needs the CSRF token of
// its form, and anything else the origin of the daemon's own page. Thread-safe: a request is read on its edge.
#pragma once

#include <string>

#include "base/clock.h"
#include "command/commands.h"
#include "http/target.h"
#include "runtime/sign_in.h"
#include "wire/approval_page.h"
#include "wire/handled.h"

namespace agentd::wire {

class Approval final {
 public:
  // The references outlive this; all but the clock are of the core thread.
  Approval(runtime::SignIn& sign_in, command::Commands& commands, const Clock& clock)
      : sign_in_(sign_in), commands_(commands), clock_(clock) {}

  [[nodiscard]] Handled show(const http::Request& request, const Identify& identify);
  [[nodiscard]] Handled decide(const http::Request& request, const http::Query& form, const Identify& identify);

 private:
  // Core thread.
  [[nodiscard]] http::Response list(const std::string& user_code, const std::string& csrf_token,
                                    Attempt attempt = {}) const;

  runtime::SignIn& sign_in_;
  command::Commands& commands_;
  const Clock& clock_;
};

}  // namespace agentd::wire
