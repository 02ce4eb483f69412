// The golden frames: one for each frame and kind, with every optional member shown by some frame (events.md
// section 11). Made by pushing real payloads, so they are what a subscriber would be sent; published under
// schema/events/examples and served beside the bundle. Immutable after the first call; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace agentd::feed {

// Name (of the file, without .json) and text of each, in a fixed order.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& golden_frames();

}  // namespace agentd::feed
