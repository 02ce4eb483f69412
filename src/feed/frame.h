// Frame: one event as it is sent, and Window: where the ring stands. Immutable values, shared by every
// reader.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "feed/kinds.h"
#include "feed/visibility.h"

namespace agentd::feed {

// One event, immutable once in the ring. `text` is the frame's JSON, {"event":{…}}, on one line. For a task,
// [cut_begin, cut_end) is the part that only subscribers with task-annotations are sent.
struct Frame {
  std::uint64_t seq = 0;
  Kind kind{};
  Visibility visibility = Visibility::operators();
  std::string text;
  std::size_t cut_begin = 0, cut_end = 0;

  // The frame's text for one subscriber, as one or two pieces (the second may be empty).
  [[nodiscard]] std::array<std::string_view, 2> pieces(bool annotations) const {
    const std::string_view all = text;
    if (annotations || cut_begin == cut_end) return {all, {}};
    return {all.substr(0, cut_begin), all.substr(cut_end)};
  }
};
using FramePtr = std::shared_ptr<const Frame>;

// The numbers that the ring holds: [oldest, newest], or none when oldest is newest + 1.
struct Window {
  std::uint64_t oldest = 0;
  std::uint64_t newest = 0;
  bool operator==(const Window&) const = default;
};

}  // namespace agentd::feed
