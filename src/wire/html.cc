#include "wire/html.h"

#include <fmt/format.h>

#include "base/digest.h"

namespace agentd::wire {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}"
    "form{border:1px solid #bbb;border-radius:6px;padding:1rem;margin:1rem 0}"
    "code,strong{font-family:ui-monospace,monospace}label{margin-right:1rem}"
    "dl{display:grid;grid-template-columns:max-content auto;gap:0 1rem;margin:0 0 1rem}dd{margin:0}"
    ".fault{color:#a00}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}.fault{color:#f88}}";

// No script at all, the one style above, forms for this daemon alone, and no frame around it.
const std::string& policy() {
  static const std::string text = fmt::format(
      "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      sha256_base64(kStyle));
  return text;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

http::Response html_page(int status, std::string_view title, std::string_view body, std::string_view referrer) {
  return {.status = status,
          .headers = {{"Content-Type", "text/html; charset=utf-8"},
                      {"Content-Security-Policy", policy()},
                      {"Referrer-Policy", std::string(referrer)}},
          .body = fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
                              "<meta name=\"viewport\" content=\"width=device-width\"><style>{1}</style></head>"
                              "<body><h1>{0}</h1>{2}</body></html>\n",
                              escape_html(title), kStyle, body)};
}

}  // namespace agentd::wire
