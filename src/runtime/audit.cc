#include "runtime/audit.h"

#include <utility>

#include "base/reason.h"
#include "feed/payload_json.h"

namespace agentd::runtime {

namespace {

// Records after which the oldest go, however soon: a minute of many messages is much.
constexpr std::size_t kTrimEvery = 2'000;

}  // namespace

Audit::Audit(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention)
    : journal_(journal), feed_(feed), clock_(clock), retention_(retention) {}

void Audit::done(const access::Caller* who, std::string action, Json target) {
  record(who, std::move(action), std::move(target), "ok", true);
}

void Audit::refused(const access::Caller* who, std::string action, Json target, Code why) {
  const std::string_view reason = reason_of(why);
  record(who, std::move(action), std::move(target), reason.empty() ? "INVALID" : std::string(reason),
         !journal_.refusing());
}

void Audit::record(const access::Caller* who, std::string action, Json target, std::string outcome, bool keep) {
  const std::int64_t now = clock_.wall_ms();
  feed::Audit audit{.ts = static_cast<feed::Count>(now),
                    .action = std::move(action),
                    .target = std::move(target),
                    .outcome = std::move(outcome)};
  if (who != nullptr) {
    audit.principal = who->viewer.principal;
    audit.role = access::to_string(who->role);
    if (!who->sid.empty()) audit.sid = who->sid;
  }
  feed_.push(feed::Visibility::operators(), audit);
  if (!keep) return;
  store::AuditRow row{.ts_ms = now, .body = {}};
  feed::append_data(row.body, audit);
  journal_.put(std::move(row));
  if (++untrimmed_ == kTrimEvery) enforce_retention();
}

void Audit::enforce_retention() {
  untrimmed_ = 0;
  journal_.put(store::TrimAudit{.before_ms = clock_.wall_ms() - retention_.ttl_ms,
                                .keep_last = static_cast<std::int64_t>(retention_.keep_last)});
}

}  // namespace agentd::runtime
