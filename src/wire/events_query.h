// The query of GET /events (events.md section 12). Pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "feed/kinds.h"
#include "http/message.h"

namespace agentd::wire {

struct EventsQuery {
  std::uint64_t from_seq = 0;  // Last-Event-ID when there is one, else fromSeq
  feed::KindSet kinds = feed::KindSet::all();
  bool follow = true;
};

// Errors: kInvalidParams with a message for a person with curl.
[[nodiscard]] Result<EventsQuery> read_events_query(const http::Request& request);

}  // namespace agentd::wire
