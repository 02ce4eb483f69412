#include "wire/events_query.h"

#include <fmt/format.h>

#include <charconv>

namespace agentd::wire {
namespace {

Result<std::uint64_t> read_cursor(std::string_view text, std::string_view name) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(Code::kInvalidParams, fmt::format("{} must be a number from 0 to 18446744073709551615", name));
  }
  return value;
}

}  // namespace

Result<EventsQuery> read_events_query(const http::Request& request) {
  EventsQuery query;
  for (const auto& [name, value] : request.query) {
    if (name == "fromSeq") {
      const auto cursor = read_cursor(value, name);
      if (!cursor) return std::unexpected(cursor.error());
      query.from_seq = *cursor;
    } else if (name == "kinds") {
      const auto kinds = feed::KindSet::parse(value);
      if (!kinds) return std::unexpected(kinds.error());
      query.kinds = *kinds;
    } else if (name == "follow") {
      if (value != "true" && value != "false") return fail(Code::kInvalidParams, "follow must be true or false");
      query.follow = value == "true";
    } else {
      return fail(Code::kInvalidParams,
                  fmt::format("{} is not a parameter of this page; there are fromSeq, kinds and follow",
                              quote_json(cut_text(name, 40))));
    }
  }
  if (const auto last = request.header("Last-Event-ID"); last && !last->empty()) {
    const auto cursor = read_cursor(*last, "Last-Event-ID");
    if (!cursor) return std::unexpected(cursor.error());
    query.from_seq = *cursor;
  }
  return query;
}

}  // namespace agentd::wire
