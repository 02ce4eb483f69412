// Control sockets: how the daemon's own user gets in without a credential: beside each TCP listener a unix one, at the place
// that base/folders.h knows. The agent card does not name them.
//
// Pure but for the files; for the thread that starts the daemon.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/listener.h"

namespace agentd::daemon {

// One for each port of `urls`, which are those of listeners as bound. One that cannot be made is warned of in the log.
[[nodiscard]] std::vector<std::unique_ptr<net::Listener>> open_control_sockets(const std::vector<std::string>& urls);

// The origins at which a browser or a program of this machine finds the listeners, as they are written: "http://127.0.0.1:8420",
// "http://localhost:8420", "https://[::1]". A listener of another address than these has none.
[[nodiscard]] std::vector<std::string> local_origins(const std::vector<std::string>& urls);

}  // namespace agentd::daemon
