#include "http/sse_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace agentd::http {

Status SseReader::read(std::string_view bytes, std::vector<SseItem>& out) {
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const auto end = bytes.find_first_of("\r\n");
    const auto piece = bytes.substr(0, end);
    if (line_.size() + piece.size() + data_.size() > max_event_) {
      return fail(Code::kParse, fmt::format("an event of the stream is longer than {} bytes", max_event_));
    }
    if (end == std::string_view::npos) {
      line_ += piece;
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      end_line(piece, out);
    } else {
      line_ += piece;
      end_line(line_, out);
      line_.clear();
    }
  }
  return {};
}

void SseReader::end_line(std::string_view line, std::vector<SseItem>& out) {
  if (first_line_) {
    first_line_ = false;
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  }
  if (line.empty()) return dispatch(out);
  const auto colon = line.find(':');
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (colon == 0) {
    out.push_back({.type = SseItem::Type::kComment, .event = {}, .id = id_, .data = std::string(value)});
  } else {
    take_field(line.substr(0, colon), value);
  }
}

void SseReader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
  } else if (name == "retry") {
    std::int64_t ms = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (error == std::errc() && end == value.data() + value.size() && ms >= 0) retry_ms_ = ms;
  }
}

void SseReader::dispatch(std::vector<SseItem>& out) {
  if (has_data_) {
    if (event_.empty()) event_ = "message";
    out.push_back({.type = SseItem::Type::kEvent, .event = std::move(event_), .id = id_, .data = std::move(data_)});
  }
  event_.clear();
  data_.clear();
  has_data_ = false;
}

}  // namespace agentd::http
