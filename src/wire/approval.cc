#include "wire/approval.h"

#include <fmt/format.h>

#include <utility>

#include "access/device_codes.h"
#include "access/sessions.h"
#include "wire/browser.h"
#include "wire/error_map.h"
#include "wire/form.h"
#include "wire/jsonrpc.h"

namespace agentd::wire {
namespace {

constexpr std::string_view kField = "form.";  // what Commands names a fault below

// Of the form for this caller; "" when it did not come by a cookie.
std::string csrf_of(const http::Request& request, const access::Caller& caller) {
  const auto cookie = session_cookie(request);
  return cookie && !request.header("Authorization") && caller.has_session() ? access::csrf_token(*cookie) : "";
}

// No page can send a token that it does not have, and the cookie was asked for its CSRF token already.
bool is_meant(const http::Request& request, const access::Caller& caller) {
  const std::string_view authorization = request.header("Authorization").value_or("");
  const bool has_token = http::same_name(authorization.substr(0, authorization.find(' ')), "Bearer");
  return caller.has_session() || has_token || (request.header("Origin") && !foreign_origin(request));
}

http::Response refusal_page(const Error& refusal, const std::string& text) {
  http::Response page = outcome_page(error_row(refusal.code).http, "Nothing was changed", text);
  for (auto& header : error_response(nullptr, refusal).headers) {
    if (header.first != "Content-Type") page.headers.push_back(std::move(header));
  }
  return page;
}

std::string why_not_identified(const Error& refusal) {
  return refusal.code == Code::kPermissionDenied && !refusal.metadata.empty()
             ? "The form is of another session: open the page anew and try again."
             : refusal.message;
}

// "form.as is a reserved name" is of a program's arguments, and this is read by a person.
std::string fault_of(const Error& error) {
  if (error.violations.empty()) return error.message;
  const auto& [path, what] = error.violations.front();
  const std::string name = path.starts_with(kField) ? path.substr(kField.size()) : path;
  if (name == "as") return "The name " + what + ".";
  if (name == "user_code") return "This " + what + ".";
  return fmt::format("The {} {}.", name, what);
}

std::string approved_text(const Json& approved) {
  const std::string principal = approved["principal"];
  return fmt::format(
      "{} is approved as {} with scope {}, for {} at {}.{}", approved["user_code"].get<std::string>(), principal,
      approved["scope"].get<std::string>(), approved["client_id"].get<std::string>(),
      approved["peer"].get<std::string>(),
      approved["existing"] == true ? " " + principal + " was there before: this sign-in sees all that is theirs." : "");
}

}  // namespace

Handled Approval::show(const http::Request& request, const Identify& identify) {
  const std::string user_code(request.param("user_code").value_or(""));
  const auto caller = identify(std::nullopt);
  if (!caller || !caller->viewer.is_operator) return device_page(user_code);
  return Work([this, user_code, csrf = csrf_of(request, *caller)] { return list(user_code, csrf); });
}

Handled Approval::decide(const http::Request& request, const http::Query& form, const Identify& identify) {
  const auto caller = identify(field(form, "csrf_token"));
  if (!caller) return refusal_page(caller.error(), why_not_identified(caller.error()));
  const auto denied = [](const char* why) {
    return refusal_page({.code = Code::kPermissionDenied, .message = why}, why);
  };
  if (!caller->viewer.is_operator) return denied("Sign-ins are answered by operators.");
  if (!is_meant(request, *caller)) return denied("The request does not come from this page: its Origin is missing.");
  const std::string action = field(form, "action");
  if (action != "approve" && action != "deny")
    return outcome_page(400, "Nothing was changed", "The form has no such action.");
  Attempt attempt{.user_code = access::normal_user_code(field(form, "user_code")),
                  .name = field(form, "as"),
                  .scope = field(form, "scope"),
                  .fault = {}};
  Json op = {{"op", "auth.device." + action}, {"user_code", field(form, "user_code")}};
  if (action == "approve") {
    op["as"] = attempt.name;
    if (!attempt.scope.empty()) op["scope"] = attempt.scope;
  }
  return Work([this, caller = *caller, op = std::move(op), attempt = std::move(attempt),
               csrf = csrf_of(request, *caller)]() mutable -> http::Response {
    if (caller.is_revoked()) return outcome_page(401, "Nothing was changed", "Your session ended meanwhile.");
    const auto done = commands_.decide(caller, op);
    if (!done) {
      attempt.fault = fault_of(done.error());
      const std::string user_code = attempt.user_code;
      return list(user_code, csrf, std::move(attempt));
    }
    if (done->contains("approved")) return outcome_page(200, "Approved", approved_text((*done)["approved"]));
    return outcome_page(200, "Denied", attempt.user_code + " is denied.");
  });
}

http::Response Approval::list(const std::string& user_code, const std::string& csrf_token, Attempt attempt) const {
  return approval_page({.pending = sign_in_.pending()["pending"],
                        .user_code = user_code,
                        .csrf_token = csrf_token,
                        .now_ms = clock_.wall_ms(),
                        .attempt = std::move(attempt)});
}

}  // namespace agentd::wire
