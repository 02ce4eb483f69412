// What the daemon serves to everyone: the agent card, the pages, bundles and examples of its extensions.
#pragma once

#include "a2a/card.h"
#include "wire/pages.h"

namespace agentd::daemon {

[[nodiscard]] wire::Pages public_pages(const a2a::CardFacts& facts);

// The bundle of `events`, `command` or `task-annotations`, indented for reading; "" when there is no such extension.
[[nodiscard]] std::string extension_schema(const std::string& name);

}  // namespace agentd::daemon
