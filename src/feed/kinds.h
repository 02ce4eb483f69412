// Kind and KindSet: the closed vocabulary of the feed (events.md section 10). kind_table.h has the table
// itself, the only list of the kinds; this is what one asks it. Immutable values and pure functions.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "feed/visibility.h"

namespace agentd::feed {

enum class Kind : std::uint8_t {
  kTask,
  kTaskRemoved,
  kRun,
  kRunRemoved,
  kStep,
  kConversation,
  kConversationRemoved,
  kSubagent,
  kSubagentRemoved,
  kChild,
  kChildRemoved,
  kActivity,
  kActivityRemoved,
  kStatus,
  kLifecycle,
  kConfig,
  kAudit,
  kAuth,
};
inline constexpr std::size_t kKindCount = 18;

// The widest reach that an event of a kind may have.
enum class Audience : std::uint8_t { kOwner, kOperator, kAll };

[[nodiscard]] std::string_view kind_name(Kind kind);  // on the wire: "task.removed"
[[nodiscard]] std::optional<Kind> find_kind(std::string_view name);
[[nodiscard]] Audience audience(Kind kind);
[[nodiscard]] bool within(Audience audience, const Visibility& visibility);
// The JSON Schema of the kind's `data`: closed, and without a $ref.
[[nodiscard]] Json kind_schema(Kind kind);

class KindSet {
 public:
  [[nodiscard]] static KindSet all();
  // A comma list of wire names, as in ?kinds=task,run; blanks and empty items are dropped, and an empty list
  // is all(). Errors: kInvalidParams, naming the unknown kind and the nearest known one.
  [[nodiscard]] static Result<KindSet> parse(std::string_view list);

  [[nodiscard]] bool contains(Kind kind) const { return bits_.test(static_cast<std::size_t>(kind)); }
  void insert(Kind kind) { bits_.set(static_cast<std::size_t>(kind)); }
  [[nodiscard]] std::vector<std::string> names() const;  // in table order
  bool operator==(const KindSet&) const = default;

 private:
  std::bitset<kKindCount> bits_;
};

// What a subscription of this viewer can carry: `kinds` of the extended card (events.md section 1).
[[nodiscard]] KindSet kinds_for(const Viewer& viewer, bool introspection);

}  // namespace agentd::feed
