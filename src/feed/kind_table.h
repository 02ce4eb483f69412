// The table of the kinds (events.md section 10): name on the wire, widest audience, schema, payload types.
// There is no other list: the bundle, the extended card, the debug check of every push and the published
// files come from here. A new kind is one row, one schema in kind_schemas.cc and one payload with its
// append_data.
#pragma once

#include <tuple>
#include <type_traits>

#include "feed/kind_schemas.h"
#include "feed/kinds.h"
#include "feed/payloads.h"

namespace agentd::feed {

template <class... Payloads>
struct KindRow {
  Kind kind;
  std::string_view name;
  Audience audience;
  Json (*schema)();

  template <class P>
  static constexpr bool carries = (std::is_same_v<P, Payloads> || ...);
};

// clang-format off
inline constexpr std::tuple kKindTable{
    KindRow<Task>                     {Kind::kTask,                "task",                 Audience::kOwner,    task_schema},
    KindRow<TaskRemoved>              {Kind::kTaskRemoved,         "task.removed",         Audience::kOwner,    removed_schema},
    KindRow<Run>                      {Kind::kRun,                 "run",                  Audience::kOwner,    run_schema},
    KindRow<RunRemoved>               {Kind::kRunRemoved,          "run.removed",          Audience::kOwner,    removed_schema},
    KindRow<StepStart, StepDone>      {Kind::kStep,                "step",                 Audience::kOperator, step_schema},
    KindRow<Conversation>             {Kind::kConversation,        "conversation",         Audience::kOwner,    conversation_schema},
    KindRow<ConversationRemoved>      {Kind::kConversationRemoved, "conversation.removed", Audience::kOwner,    removed_schema},
    KindRow<Subagent>                 {Kind::kSubagent,            "subagent",             Audience::kOperator, subagent_schema},
    KindRow<SubagentRemoved>          {Kind::kSubagentRemoved,     "subagent.removed",     Audience::kOperator, removed_schema},
    KindRow<Child>                    {Kind::kChild,               "child",                Audience::kOperator, child_schema},
    KindRow<ChildRemoved>             {Kind::kChildRemoved,        "child.removed",        Audience::kOperator, removed_schema},
    KindRow<Activity>                 {Kind::kActivity,            "activity",             Audience::kOwner,    activity_schema},
    KindRow<ActivityRemoved>          {Kind::kActivityRemoved,     "activity.removed",     Audience::kOwner,    removed_schema},
    KindRow<Status>                   {Kind::kStatus,              "status",               Audience::kOperator, status_schema},
    KindRow<Draining, Paused, Resumed>{Kind::kLifecycle,           "lifecycle",            Audience::kAll,      lifecycle_schema},
    KindRow<Config>                   {Kind::kConfig,              "config",               Audience::kAll,      config_schema},
    KindRow<Audit>                    {Kind::kAudit,               "audit",                Audience::kOperator, audit_schema},
    KindRow<Auth>                     {Kind::kAuth,                "auth",                 Audience::kOperator, auth_schema},
};
// clang-format on

// Calls `visit` with each row, in table order.
template <class Visit>
constexpr void for_each_row(Visit visit) {
  std::apply([&](const auto&... rows) { (visit(rows), ...); }, kKindTable);
}

static_assert(std::tuple_size_v<decltype(kKindTable)> == kKindCount);
static_assert(
    [] {
      std::size_t place = 0;
      bool in_order = true;
      for_each_row([&](const auto& row) { in_order = in_order && static_cast<std::size_t>(row.kind) == place++; });
      return in_order;
    }(),
    "the rows stand in the order of Kind");

// The kind that carries payload type P; nothing when no row names it.
template <class P>
inline constexpr std::optional<Kind> kKindCarrying = [] {
  std::optional<Kind> found;
  for_each_row([&]<class Row>(const Row& row) {
    if (Row::template carries<P>) found = row.kind;
  });
  return found;
}();

template <class P>
concept Payload = kKindCarrying<P>.has_value();

}  // namespace agentd::feed
