// What holds between the keys of the agent's work: its model, budget, tools and peers.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "config/report.h"
#include "config/snapshot.h"

namespace agentd::config {

// Reports what is missing, too much, or there twice. The document is the one that the snapshot was read from.
void check_agent(const Document& document, const Snapshot& snapshot, Report& report);

// Reads agent.files, and has them and the folders of agent.skills watched. Reports what cannot be read.
void read_agent_files(Snapshot& snapshot, Report& report);

// The same of tool servers alone, which stand in the section of the document: "mcp.servers".
void check_servers(const Document& document, const std::vector<McpServer>& servers, const std::string& section,
                   Report& report);

}  // namespace agentd::config
