// The query of GET /events: the first line is the target of the request, the second its Last-Event-ID. A query that is
// taken, written again by what was understood of it, is the same query; a refusal is one line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "http/target.h"
#include "wire/events_query.h"

namespace {

using agentd::wire::EventsQuery;

agentd::Result<EventsQuery> read(std::string_view target, std::string_view last_event_id) {
  auto parsed = agentd::http::parse_target(target, "GET");
  if (!parsed) return std::unexpected(parsed.error());
  agentd::http::Request request{.method = "GET", .path = parsed->path, .query = parsed->query};
  if (!last_event_id.empty()) request.headers.emplace_back("last-event-id", last_event_id);
  return agentd::wire::read_events_query(request);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(bytes.find('\n'), size);
  const std::string_view last_event_id = bytes.substr(std::min(line + 1, size));
  const auto query = read(bytes.substr(0, line), last_event_id);
  if (!query) {
    AGENTD_CHECK(!query.error().message.empty() && query.error().message.size() < 1024, "a refusal says why, in short");
    AGENTD_CHECK(std::ranges::none_of(query.error().message, [](char c) { return c >= 0 && c < ' '; }),
                 "a refusal is one line, whatever it quotes");
    return 0;
  }
  if (!last_event_id.empty()) {
    AGENTD_CHECK(last_event_id.find_first_not_of("0123456789") == std::string_view::npos, "a cursor is plain digits");
    AGENTD_CHECK(query->from_seq == std::stoull(std::string(last_event_id)), "Last-Event-ID has the last word");
  }
  const std::string written = fmt::format("/events?fromSeq={}&kinds={}&follow={}", query->from_seq,
                                          fmt::join(query->kinds.names(), ","), query->follow);
  const auto again = read(written, "");
  AGENTD_CHECK(again.has_value(), "what was taken is taken again");
  AGENTD_CHECK(again->from_seq == query->from_seq && again->kinds == query->kinds && again->follow == query->follow,
               "and is the same");
  return 0;
}
