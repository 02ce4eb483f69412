// The URL of a daemon in one spelling. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace agentd::client {

// "HTTP://Host:80/x/?q" is "http://host/x": without a default port, a slash at the end, user, query and fragment.
// Error kConfig: no http or https URL.
[[nodiscard]] Result<std::string> canonical_url(const std::string& url);

// Of a canonical URL: all before its path, and its port, be it the default one.
[[nodiscard]] std::string origin_of(const std::string& canonical);
[[nodiscard]] std::string port_of(const std::string& canonical);

// Whether its host is this machine, by an address or as localhost.
[[nodiscard]] bool is_loopback(std::string_view url);

}  // namespace agentd::client
