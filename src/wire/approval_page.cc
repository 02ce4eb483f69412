#include "wire/approval_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "access/device_codes.h"
#include "wire/html.h"

namespace agentd::wire {
namespace {

std::string text_of(const Json& request, const char* key) { return escape_html(request.value(key, "")); }

std::string fault_text(const std::string& fault) {
  return fault.empty() ? "" : fmt::format("<p class=\"fault\" role=\"alert\">{}</p>", escape_html(fault));
}

// Never more than was asked for.
std::string scope_options(const Json& request, const std::string& chosen) {
  const std::string asked = request.value("scope", "user");
  std::string out;
  for (const char* scope : {"user", "operator"}) {
    if (scope == std::string_view("operator") && asked != "operator") continue;
    out += fmt::format("<option{0}>{1}</option>", scope == (chosen.empty() ? asked : chosen) ? " selected" : "", scope);
  }
  return out;
}

std::string form_of(const Json& request, const ApprovalView& view) {
  const bool again = !view.attempt.fault.empty() && request.value("user_code", "") == view.attempt.user_code;
  const Attempt filled = again ? view.attempt : Attempt{};
  const std::int64_t age_s =
      std::max<std::int64_t>(view.now_ms - request.value("requested_at", view.now_ms), 0) / 1'000;
  std::string out = fmt::format(
      "<form method=\"post\" action=\"/oauth2/device\"><dl><dt>Code</dt><dd><strong>{0}</strong></dd><dt>Client</dt>"
      "<dd>{1}</dd><dt>Scope asked for</dt><dd>{2}</dd><dt>From</dt><dd>{3}</dd><dt>Asked</dt><dd>{4} s ago</dd></dl>"
      "{5}<input type=\"hidden\" name=\"user_code\" value=\"{0}\">",
      text_of(request, "user_code"), text_of(request, "client_id"), text_of(request, "scope"), text_of(request, "peer"),
      age_s, fault_text(filled.fault));
  if (!view.csrf_token.empty()) {
    out += fmt::format("<input type=\"hidden\" name=\"csrf_token\" value=\"{}\">", escape_html(view.csrf_token));
  }
  out += fmt::format(
      "<label>Name <input name=\"as\" value=\"{}\" maxlength=\"64\" autocomplete=\"off\" "
      "autocapitalize=\"none\"></label>"
      "<label>Scope <select name=\"scope\">{}</select></label>"
      "<button name=\"action\" value=\"approve\">Approve</button> "
      "<button name=\"action\" value=\"deny\">Deny</button></form>",
      escape_html(filled.name), scope_options(request, filled.scope));
  return out;
}

}  // namespace

http::Response approval_page(const ApprovalView& view) {
  const std::string first = access::normal_user_code(view.user_code);
  std::vector<Json> waiting(view.pending.begin(), view.pending.end());
  const auto named = std::ranges::find(waiting, first, [](const Json& one) { return one.value("user_code", ""); });
  const bool found = named != waiting.end();
  if (found) std::rotate(waiting.begin(), named, named + 1);
  std::string body =
      "<p>Approve a code only when you know who shows it: compare it with what is on their screen. The name says whose "
      "sign-in "
      "it is; several of one name are one person, who sees on each what is theirs.</p>";
  if (!found && !view.attempt.fault.empty()) {
    body += fault_text(view.attempt.fault);
  } else if (!found && !view.user_code.empty()) {
    body += fault_text(fmt::format("{} is not a code that waits", view.user_code));
  }
  for (const Json& request : waiting) body += form_of(request, view);
  if (waiting.empty()) body += "<p>No sign-in waits.</p>";
  return html_page(view.attempt.fault.empty() ? 200 : 400, "Sign-ins that wait", body);
}

http::Response outcome_page(int status, const std::string& title, const std::string& text) {
  return html_page(
      status, title,
      fmt::format("<p>{}</p><p><a href=\"/oauth2/device\">The sign-ins that wait</a></p>", escape_html(text)));
}

http::Response device_page(const std::string& user_code) {
  const std::string code = access::normal_user_code(user_code);
  return html_page(200, "A device asks to sign in",
                   fmt::format("<p>Its code is <strong>{0}</strong>. Compare it with what the device shows.</p>"
                               "<p>An operator of this daemon lets it in with</p>"
                               "<pre>agentd devices approve {0} --as NAME</pre><p>and turns it away with</p>"
                               "<pre>agentd devices deny {0}</pre>",
                               code.empty() ? "XXXX-XXXX" : code));
}

}  // namespace agentd::wire
