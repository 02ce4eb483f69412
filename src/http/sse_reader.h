// SseReader: bytes of a text/event-stream in, events and comments out. No I/O.
//
// Follows the HTML standard: lines end in LF, CR or CRLF, a leading BOM is dropped, `data` lines are joined
// by LF, `id` holds until the next one, an event without data is no event. Two things beyond it: comments are
// delivered (the feed's bookmarks are comments), and an event is bounded. Confined to one thread. Cost: each byte is copied once, and once more when a
// line arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agentd::http {

struct SseItem {
  enum class Type : std::uint8_t { kEvent, kComment };
  Type type = Type::kEvent;
  std::string event;  // "message" when the stream named none
  std::string id;     // the last id the stream gave, of this event or an earlier one
  std::string data;   // of a comment: its text without the colon and one space
};

class SseReader final {
 public:
  static constexpr std::size_t kMaxEvent = 16U << 20U;
  explicit SseReader(std::size_t max_event = kMaxEvent) : max_event_(max_event) {}

  // Appends what `bytes` completes to `out`. Error: kParse, when an event or a line is longer than the bound;
  // the stream cannot be read on after it.
  [[nodiscard]] Status read(std::string_view bytes, std::vector<SseItem>& out);
  // How long the server asks to wait before reconnecting, if it has.
  [[nodiscard]] std::optional<std::int64_t> retry_ms() const { return retry_ms_; }

 private:
  void end_line(std::string_view line, std::vector<SseItem>& out);
  void take_field(std::string_view name, std::string_view value);
  void dispatch(std::vector<SseItem>& out);

  std::size_t max_event_;
  std::string line_;  // the beginning of a line whose end has not arrived
  bool first_line_ = true;
  bool after_cr_ = false;  // an LF at the front of the next bytes belongs to the CR before it
  bool has_data_ = false;
  std::optional<std::int64_t> retry_ms_;
  std::string event_;
  std::string id_;
  std::string data_;
};

}  // namespace agentd::http
