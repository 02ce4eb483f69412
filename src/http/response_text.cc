#include "http/response_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

namespace agentd::http {

namespace {

bool is_servers_own(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"content-length", "transfer-encoding", "date",
                                                             "connection"};
  return std::ranges::any_of(kNames, [name](std::string_view own) { return same_name(own, name); });
}

void append_clean(std::string& out, std::string_view value) {
  for (const char c : value) out += (c >= 0 && c < ' ' && c != '\t') || c == 0x7f ? ' ' : c;
}

}  // namespace

std::string_view DateText::at(std::int64_t wall_ms) {
  const std::int64_t second = wall_ms / 1000;
  if (second != second_) {
    second_ = second;
    const auto time = static_cast<std::time_t>(second);
    std::tm utc{};
    ::gmtime_r(&time, &utc);
    // Not strftime: its names depend on the locale.
    static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    text_ = fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays.at(static_cast<std::size_t>(utc.tm_wday)),
                        utc.tm_mday, kMonths.at(static_cast<std::size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                        utc.tm_min, utc.tm_sec);
  }
  return text_;
}

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

void append_head(std::string& out, const Response& response, const HeadOptions& options) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, reason_phrase(response.status), options.date);
  for (const auto& [name, value] : response.headers) {
    if (is_servers_own(name)) continue;
    append_clean(out, name);
    out += ": ";
    append_clean(out, value);
    out += "\r\n";
  }
  if (has_body(response.status)) {
    if (options.framing == Framing::kLength) fmt::format_to(to, "Content-Length: {}\r\n", response.body.size());
    if (options.framing == Framing::kChunked) out += "Transfer-Encoding: chunked\r\n";
  }
  if (!options.keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "";  // may be empty (RFC 9112 4)
  }
}

}  // namespace agentd::http
