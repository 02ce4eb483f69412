#include "wire/browser.h"

#include <fmt/format.h>

#include <algorithm>

namespace agentd::wire {
namespace {

std::string cookie_name(const http::Request& request) {
  std::string_view host = request.header("Host").value_or("");
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && !host.ends_with(']');
  const std::string_view usual = request.peer.tls ? "443" : "80";
  return fmt::format("agentd_session_{}", has_port ? host.substr(colon + 1) : usual);
}

}  // namespace

std::string origin_of(const http::Request& request) {
  return fmt::format("{}://{}", request.peer.tls ? "https" : "http", request.header("Host").value_or(""));
}

std::string local_origin(const http::Request& request) {
  return request.peer.loopback && !is_of_foreign_page(request) ? origin_of(request) : "";
}

std::optional<std::string_view> foreign_origin(const http::Request& request) {
  const auto origin = request.header("Origin");
  const bool has_one = request.peer.uid < 0 && request.header("Host");  // no page is at a unix socket
  return has_one && origin == origin_of(request) ? std::nullopt : origin;
}

bool is_of_foreign_page(const http::Request& request) {
  const auto site = request.header("Sec-Fetch-Site");
  return site && *site != "none" && *site != "same-origin";
}

std::optional<std::string_view> session_cookie(const http::Request& request) {
  const std::string name = cookie_name(request);
  std::string_view rest = request.header("Cookie").value_or("");
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::string_view pair = one.substr(std::min(one.find_first_not_of(' '), one.size()));
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) return pair.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string set_session_cookie(const http::Request& request, std::string_view token, std::int64_t life_s) {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{}", cookie_name(request), token, life_s,
                     request.peer.tls ? "; Secure" : "");
}

}  // namespace agentd::wire
