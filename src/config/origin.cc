#include "config/origin.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace agentd::config {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kUnix = "unix://";

struct Authority {
  std::string host;  // an IPv6 address without its brackets
  std::string port;  // "" = none
  bool bracketed = false;
};

std::string_view cut_slash(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

bool is_address(int family, const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, host.c_str(), bytes) == 1;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port <= 65535;
}

// "host", "host:port", "[v6]" or "[v6]:port".
Result<Authority> parse_authority(std::string_view text) {
  Authority out;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return fail(Code::kConfig, "the bracket of its address does not end");
    out.bracketed = true;
    out.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!is_address(AF_INET6, out.host)) return fail(Code::kConfig, "its host is not an IPv6 address");
  } else {
    const std::size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    constexpr std::string_view kHost = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    if (out.host.empty() || out.host.find_first_not_of(kHost) != std::string::npos) {
      return fail(Code::kConfig, "its host is neither a name nor an address");
    }
  }
  if (rest.empty()) return out;
  out.port = rest.substr(1);
  if (rest.front() != ':' || !is_port(out.port)) return fail(Code::kConfig, "its port is not a number up to 65535");
  return out;
}

Result<std::string> parse_unix(std::string_view text) {
  const std::string_view path = text.substr(kUnix.size());
  if (!path.starts_with('/')) return fail(Code::kConfig, "the path of its socket is not absolute");
  if (path.ends_with('/')) return fail(Code::kConfig, "the path of its socket is that of a folder");
  if (path.size() >= sizeof sockaddr_un::sun_path) {
    return fail(Code::kConfig, fmt::format("the path of its socket has more than the {} bytes that the system allows",
                                           sizeof sockaddr_un::sun_path - 1));
  }
  return std::string(text);
}

}  // namespace

Result<std::string> parse_listen(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text);
  const std::string_view scheme = is_https(text) ? kHttps : kHttp;
  if (!text.starts_with(scheme)) return fail(Code::kConfig, "is not a URL that can be listened on");
  auto authority = parse_authority(cut_slash(text.substr(scheme.size())));
  if (!authority) return std::unexpected(authority.error());
  if (authority->port.empty()) return fail(Code::kConfig, "it names no port");
  if (authority->host == "localhost") authority->host = "127.0.0.1";
  if (!authority->bracketed && !is_address(AF_INET, authority->host)) {
    return fail(Code::kConfig, "its host is not an address of this machine");
  }
  return fmt::format("{}{}{}{}:{}", scheme, authority->bracketed ? "[" : "", authority->host,
                     authority->bracketed ? "]" : "", authority->port);
}

bool is_local(std::string_view listen) {
  if (listen.starts_with(kUnix)) return true;
  listen.remove_prefix((is_https(listen) ? kHttps : kHttp).size());
  return listen.starts_with("127.") || listen.starts_with("[::1]");
}

bool is_https(std::string_view listen) { return listen.starts_with(kHttps); }

Result<std::string> parse_origin(std::string_view text) {
  text = cut_slash(text);
  const std::string_view scheme = text.starts_with(kHttps) ? kHttps : kHttp;
  if (!text.starts_with(scheme)) return fail(Code::kConfig, "is not an http or https URL");
  if (text.find_first_of("/?#@", scheme.size()) != std::string_view::npos) {
    return fail(Code::kConfig, "has more than a host and a port");
  }
  if (const auto authority = parse_authority(text.substr(scheme.size())); !authority) {
    return std::unexpected(authority.error());
  }
  return std::string(text);
}

Result<std::string> parse_web(std::string_view text) {
  const std::string_view scheme = text.starts_with(kHttps) ? kHttps : kHttp;
  if (!text.starts_with(scheme)) return fail(Code::kConfig, "is not an http or https URL");
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '#'; })) {
    return fail(Code::kConfig, "has a fragment, or characters that no URL has");
  }
  const std::string_view rest = text.substr(scheme.size());
  const std::string_view place = rest.substr(0, rest.find_first_of("/?"));
  if (place.contains('@')) return fail(Code::kConfig, "names a user: what is secret has a key of its own");
  if (const auto authority = parse_authority(place); !authority) return std::unexpected(authority.error());
  return std::string(text);
}

Result<std::string> parse_base(std::string_view text) {
  auto url = parse_web(text);
  if (!url) return url;
  if (url->contains('?')) return fail(Code::kConfig, "has a query");
  while (url->ends_with('/')) url->pop_back();
  return url;
}

Result<std::string> parse_browser_origin(std::string_view text) {
  if (text == "*") return fail(Code::kConfig, "is every page of the web: name those that may call, one by one");
  auto origin = parse_origin(text);
  if (!origin) return origin;
  const bool is_lower = std::ranges::none_of(*origin, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool has_own_port = origin->ends_with(origin->starts_with(kHttps) ? ":443" : ":80");
  if (is_lower && !has_own_port) return origin;
  return fail(Code::kConfig, "is not how browsers write it: in lower case, and without the scheme's own port");
}

}  // namespace agentd::config
