// The user's folders, as the XDG base directory specification has them, and what of ours has a fixed place in one. Pure but for
// the environment, which nobody may change meanwhile.
#pragma once

#include <string>
#include <string_view>

namespace agentd {

// The folder that the environment names, or `below_home` in the home folder; "" when it has neither. A relative path is ignored.
[[nodiscard]] std::string user_folder(const char* variable, std::string_view below_home);

// Where a daemon that listens on `port` lets its own user in without a credential, and where that user's commands look for
// it: agentd/<port>.sock in $XDG_RUNTIME_DIR, else in the state folder; "" when there is neither.
[[nodiscard]] std::string control_socket(std::string_view port);

}  // namespace agentd
