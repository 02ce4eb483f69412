// The URL of a daemon in one spelling, and fields as a form. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace agentd::client {

// "HTTP://Host:80/x/?q" is "http://host/x": without a default port, a slash at the end, user, query and fragment.
// Error kConfig: no http or https URL.
[[nodiscard]] Result<std::string> canonical_url(const std::string& url);

// application/x-www-form-urlencoded, in the order given.
[[nodiscard]] std::string form_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace agentd::client
