// The document of the `status` op (command.md section 4), in exactly the feed's shapes: as text, put together by the functions
// that write events. Core-confined; one pass.
#pragma once

#include <string>

#include "access/caller.h"
#include "feed/feed.h"
#include "runtime/conversations.h"
#include "runtime/instance.h"
#include "runtime/runs.h"
#include "runtime/skills.h"
#include "runtime/subagents.h"
#include "runtime/tools.h"
#include "runtime/turns.h"

namespace agentd::command {

struct StatusSources {
  const feed::Feed& feed;
  const runtime::Instance& instance;
  const runtime::Runs& runs;
  const runtime::ChildList& children;
  const runtime::Conversations& conversations;
  const runtime::Turns& turns;
  const runtime::Subagents& subagents;
  const runtime::Tools& tools;
  const runtime::Skills& skills;
  bool with_seq = true;  // the events extension is on
};

// As JSON.
[[nodiscard]] std::string status_document(const StatusSources& sources, const access::Caller& caller);

}  // namespace agentd::command
