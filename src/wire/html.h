// HTML that the daemon writes itself: text in it is escaped, nothing in it is run, and nothing is fetched for it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/message.h"

namespace agentd::wire {

// For an element or an attribute's value in quotes.
[[nodiscard]] std::string escape_html(std::string_view text);

// A whole page. `title` is text, `body` is HTML. `referrer`: the policy; with no-referrer, forms would come from the origin "null".
[[nodiscard]] http::Response html_page(int status, std::string_view title, std::string_view body,
                                       std::string_view referrer = "same-origin");

}  // namespace agentd::wire
