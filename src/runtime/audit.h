// Audit: who did what to what, and what came of it: a record in the store with the turn that did it, and an event on the feed
// while introspection is on.
//
// A record names: ids, names, addresses. The text of a message, a credential, and an argument that was not found to name
// something are never in it, so that it holds no secret, whoever sends one where it does not belong.
// Confined to the core thread. Cost: a row for each action; reads are no actions.
#pragma once

#include <string>

#include "access/caller.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "runtime/journal.h"

namespace agentd::runtime {

// What an op did: the result its task ends with (null: without one), and to what it was done, for its record.
struct Done {
  Json result;
  Json target;
};

class Audit final {
 public:
  Audit(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention);

  // `who`: null when it is nobody. `target`: null when there is none, or none that is known.
  void done(const access::Caller* who, std::string action, Json target);
  // While the store refuses writes a refusal, of which there may be any number, is not kept: it is on the feed alone.
  void refused(const access::Caller* who, std::string action, Json target, Code why);

  void set_retention(config::Retention retention) { retention_ = retention; }
  // Drops records past the retention, oldest first. Called here after each 2,000 records.
  void enforce_retention();

 private:
  void record(const access::Caller* who, std::string action, Json target, std::string outcome, bool keep);

  Journal& journal_;
  feed::Feed& feed_;
  const Clock& clock_;
  config::Retention retention_;
  std::size_t untrimmed_ = 0;  // records since the last time
};

}  // namespace agentd::runtime
