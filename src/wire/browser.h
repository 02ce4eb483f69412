// What the head of a browser's request says: which page it is of, and which session the browser has (access.md section 6). Pure.
//
// The session is a cookie that no script can read. Cookies know no ports, so its name has the port: agentd_session_8420.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace agentd::wire {

// Where it came to, as a page writes it: "http://127.0.0.1:8420". Whether that host is ours is not asked here.
[[nodiscard]] std::string origin_of(const http::Request& request);
// The same for a program of this machine, or its browser; "" for any other, and for a page of elsewhere.
[[nodiscard]] std::string local_origin(const http::Request& request);
// The page that asks, if it is said and is not at that same origin.
[[nodiscard]] std::optional<std::string_view> foreign_origin(const http::Request& request);
// A page of somewhere else has made it: not all of those have an Origin.
[[nodiscard]] bool is_of_foreign_page(const http::Request& request);

[[nodiscard]] std::optional<std::string_view> session_cookie(const http::Request& request);
// Of Set-Cookie, for where the request came to.
[[nodiscard]] std::string set_session_cookie(const http::Request& request, std::string_view token, std::int64_t life_s);

}  // namespace agentd::wire
