// Who may be sent an event, and who asks: the one ownership predicate of the daemon (events.md section 6).
//
// Immutable values. The same `may_see` answers the feed, `status`, GetTask, ListTasks and every other read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace agentd::feed {

// The tag of an event or of an object: everybody, operators, or one principal and the operators.
class Visibility {
 public:
  enum class Reach : std::uint8_t { kAll, kOperator, kOwner };

  static Visibility all() { return {Reach::kAll, {}}; }
  static Visibility operators() { return {Reach::kOperator, {}}; }
  // Nobody's is the operator's.
  static Visibility owner(std::string principal) {
    if (principal.empty()) return operators();
    return {Reach::kOwner, std::move(principal)};
  }

  [[nodiscard]] Reach reach() const { return reach_; }
  [[nodiscard]] const std::string& principal() const { return principal_; }

 private:
  Visibility(Reach reach, std::string principal) : reach_(reach), principal_(std::move(principal)) {}
  Reach reach_;
  std::string principal_;
};

struct Viewer {
  bool is_operator = false;
  std::string principal;  // what ownership is compared by, e.g. "user:alice"
};

[[nodiscard]] inline bool may_see(const Viewer& viewer, const Visibility& tag) {
  if (viewer.is_operator || tag.reach() == Visibility::Reach::kAll) return true;
  return tag.reach() == Visibility::Reach::kOwner && tag.principal() == viewer.principal;
}

}  // namespace agentd::feed
