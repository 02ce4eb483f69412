// The addresses of the configuration: what can be listened on, and the origin that the card names.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace agentd::config {

// "http://HOST:PORT" or "https://HOST:PORT" with the host an address ("localhost" is taken for 127.0.0.1); port 0 is a
// free one. Or "unix:///PATH". Errors: kConfig, with what is wrong and without the text itself.
[[nodiscard]] Result<std::string> parse_listen(std::string_view text);

// Of what parse_listen() gave: whether only this machine can reach it, and whether it is TLS.
[[nodiscard]] bool is_local(std::string_view listen);
[[nodiscard]] bool is_https(std::string_view listen);

// "http://…" or "https://…": a host and perhaps a port, nothing after it but one slash, which is cut.
[[nodiscard]] Result<std::string> parse_origin(std::string_view text);

// The same with a path and a query perhaps, and nothing cut.
[[nodiscard]] Result<std::string> parse_web(std::string_view text);
// The same with a path perhaps, and no query; slashes at its end are cut.
[[nodiscard]] Result<std::string> parse_base(std::string_view text);

// What parse_origin() takes, as a browser sends it in the header Origin. Errors: kConfig; "*", which would be any page of the web, and what
// no browser sends: an upper-case letter, the scheme's own port.
[[nodiscard]] Result<std::string> parse_browser_origin(std::string_view text);

}  // namespace agentd::config
