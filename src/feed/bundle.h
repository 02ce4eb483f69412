// The published schemas: the bundle of the events extension (events.md section 11) and of task-annotations.
// Both are JSON Schema draft 2020-12. Pure functions that build anew at each call.
#pragma once

#include <string_view>

#include "base/json.h"

namespace agentd::feed {

inline constexpr std::string_view kEventsUri = "https://agentd.dev/a2a/ext/events";
inline constexpr std::string_view kTaskAnnotationsUri = "https://agentd.dev/a2a/ext/task-annotations";

// Root: a frame. $defs/params; $defs/hello, $defs/event and $defs/goodbye, each the whole frame with its one
// outer key; $defs/kinds/$defs/<kind>: an event's `data`, which `kind` binds it to by if/then.
[[nodiscard]] Json events_bundle();

// Root: what metadata[kTaskAnnotationsUri] of a Task holds (task-annotations.md).
[[nodiscard]] Json task_annotations_bundle();

}  // namespace agentd::feed
