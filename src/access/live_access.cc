#include "access/live_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace agentd::access {
namespace {

// No two that rules could tell apart have one key, whatever stands in their names: each has its length before it.
std::string key_of(const Presented& presented) {
  std::string key(presented.loopback ? "here" : "there");
  const auto add = [&key](std::string_view kind, std::string_view text) {
    key += fmt::format(" {}{}:{}", kind, text.size(), text);
  };
  if (presented.authorization) add("authorization", *presented.authorization);
  if (presented.certificate != nullptr) {
    add("cn", presented.certificate->cn);
    for (const std::string& san : presented.certificate->sans) add("san", san);
  }
  return key;
}

}  // namespace

bool LiveAccess::Standing::holds(const Access& rules) const {
  const auto now = rules.identify(
      {.authorization = authorization, .loopback = loopback, .certificate = certificate ? &*certificate : nullptr});
  return now && (now->viewer.is_operator || (now->viewer.principal == viewer.principal && now->role == role));
}

std::shared_ptr<const Access> LiveAccess::rules() const {
  const MutexLock lock(mutex_);
  return rules_;
}

void LiveAccess::forget_gone() const {
  if (standings_.size() < forget_at_) return;
  std::erase_if(standings_, [](const auto& entry) { return entry.second.expired(); });
  forget_at_ = std::max(forget_at_, 2 * standings_.size());
}

Result<Caller> LiveAccess::identify(const Presented& presented) const {
  for (auto rules = this->rules();;) {
    auto caller = rules->identify(presented);
    if (!caller || caller->has_session() || presented.unix_socket) return caller;
    const std::string key = key_of(presented);
    const MutexLock lock(mutex_);
    // Others have taken their place meanwhile, and did not see this one among those who stand on them.
    if (std::exchange(rules, rules_) != rules_) continue;
    forget_gone();
    std::weak_ptr<Standing>& known = standings_[key];
    auto standing = known.lock();
    if (!standing || standing->revoked) {
      standing = std::make_shared<Standing>();
      standing->authorization = presented.authorization;
      if (presented.certificate != nullptr) standing->certificate = *presented.certificate;
      standing->loopback = presented.loopback;
      known = standing;
    }
    // Where it was there before, rules have been replaced by some that let it be more.
    standing->viewer = caller->viewer;
    standing->role = caller->role;
    caller->revoked = {standing, &standing->revoked};
    return caller;
  }
}

bool LiveAccess::replace(std::shared_ptr<const Access> rules) {
  const MutexLock lock(mutex_);
  rules_ = std::move(rules);
  bool any = false;
  for (const auto& [key, known] : standings_) {
    const auto standing = known.lock();
    if (!standing || standing->revoked || standing->holds(*rules_)) continue;
    standing->revoked = true;
    any = true;
  }
  return any;
}

}  // namespace agentd::access
