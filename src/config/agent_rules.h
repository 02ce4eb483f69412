// What holds between the keys of the agent's work: its model, budget, tools and peers.
#pragma once

#include "base/document.h"
#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {

// Reports what is missing, too much, or there twice. The document is the one that the snapshot was read from.
void check_agent(const Document& document, const Snapshot& snapshot, Report& report);

}  // namespace agentd::config
