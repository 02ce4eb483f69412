// OAuth: the endpoints of device sign-in and of launch over HTTP (RFC 8628, 7009 and 8414; access.md section 4): their bytes. What
// they change is runtime/sign_in.h.
//
// Here too comes back whoever signed the daemon in elsewhere (runtime/mcp_sign_in.h), with what is theirs alone to know.
//
// Launch: a program beside the daemon asks for a code over a unix socket, and shows it over loopback at the origin that it is
// for, or has a browser show it, which gets its session as a cookie. It is there while device sign-in is off too.
//
// Shared by the edges, thread-safe. A request is read on its edge; what it asks of the core is given back as work for that thread.
// A source may ask 5 times and then once in 12 s, and poll 30 times and then once a second.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/access.h"
#include "access/sessions.h"
#include "base/clock.h"
#include "base/rate.h"
#include "config/snapshot.h"
#include "http/message.h"
#include "http/target.h"
#include "runtime/mcp_tools.h"
#include "runtime/sign_in.h"
#include "wire/approval.h"
#include "wire/handled.h"

namespace agentd::wire {

class OAuth final {
 public:
  // `issuer`: the daemon's URL without a slash at the end. `origins`: those of this machine that it is found at. The
  // references outlive this.
  OAuth(runtime::SignIn& sign_in, runtime::McpTools& mcp, command::Commands& commands, const access::Sessions& sessions,
        const config::DeviceGrant& config, const Clock& clock, std::string issuer, std::vector<std::string> origins);

  // Whether the path is there for who asks.
  [[nodiscard]] bool has(const http::Request& header) const;
  // Refuses a wrong method or media type, on the header alone.
  [[nodiscard]] std::optional<http::Response> check_header(const http::Request& header) const;
  // 503. Whoever asks is nobody yet: what is wrong with the store is for the log.
  [[nodiscard]] static http::Response not_now(std::string_view why = "the store cannot be written");
  [[nodiscard]] Handled handle(const http::Request& request, const access::Access& access, const Identify& identify);

 private:
  [[nodiscard]] Handled ask(const http::Request& request, const http::Query& form);
  [[nodiscard]] Handled token(const http::Request& request, const http::Query& form);
  [[nodiscard]] Handled launch(const http::Query& form, const access::Access& access);
  [[nodiscard]] Handled launch_browser(const http::Request& request);
  [[nodiscard]] http::Response session(const http::Request& request, const Identify& identify) const;
  [[nodiscard]] Handled revoke(const http::Query& form);
  [[nodiscard]] Handled came_back(const http::Request& request);
  [[nodiscard]] http::Response metadata() const;

  runtime::SignIn& sign_in_;  // core thread
  runtime::McpTools& mcp_;    // core thread
  const access::Sessions& sessions_;
  const config::DeviceGrant& config_;
  const Clock& clock_;
  const std::string issuer_;
  const std::vector<std::string> origins_;
  Approval approval_;
  Rates asks_, polls_;  // by source
};

}  // namespace agentd::wire
