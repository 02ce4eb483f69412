// What a person reads: one line per event of the feed, and per task of a list. Pure, apart from the time
// zone.
//
// One table in the .cc says for each of the 18 kinds what is essential about it. Members that are missing or
// of another type come out empty, a kind that the table does not know comes out as its JSON, and nothing from
// the feed reaches the terminal without having passed printable.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace agentd::cli {

struct Style {
  bool colour = false;
  bool utc = false;  // else the local time zone
};

// `event` is the member `event` of a frame: {seq, ts, kind, data}. Without a line feed.
[[nodiscard]] std::string render_event(const Json& event, const Style& style);

// A task as the daemon holds it now, in the form of a `task` event but marked "now" in place of a time.
[[nodiscard]] std::string render_current(const Json& task, const Style& style);

// The table of `agentd tasks`, with its head; each line ends in a line feed.
[[nodiscard]] std::string render_tasks(const std::vector<Json>& tasks, std::int64_t now_ms, const Style& style);

// Everything about one task, for `agentd tasks show`.
[[nodiscard]] std::string render_task(const Json& task, std::int64_t now_ms, const Style& style);

// The 18 kinds, in the order of the specification.
[[nodiscard]] std::vector<std::string> event_kinds();

// "12s", "4m", "3h", "9d".
[[nodiscard]] std::string age_text(std::int64_t ms);

}  // namespace agentd::cli
