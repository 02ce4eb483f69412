// Launch: a command beside the daemon, of the daemon's own user, needs no login (access.md section 4).
//
//   control socket: may this user? --code--> token endpoint --session, 8 h--> kept for the commands to come
//
// Each command asks the socket first: the token of a launch is sent nowhere before its daemon has said there that it is good.
// So nobody gets it who listens on the port while the daemon does not. Blocking, one round trip of a unix socket, see http.h.
#pragma once

#include "base/result.h"
#include "client/credentials.h"
#include "client/rpc.h"
#include "client/stop.h"

namespace agentd::client {

// What was asked for, with a token where it has none: of `agentd login`, else, on this machine, of a launch. Where the daemon
// gives none it stays without, and the daemon says what to do. Errors: as those of Credentials.
[[nodiscard]] Result<Endpoint> endpoint_of(Endpoint asked, const Credentials& credentials, const Stop& stop);

}  // namespace agentd::client
