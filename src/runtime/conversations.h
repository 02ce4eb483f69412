// Conversations: the contexts of each principal and what was said in them (runtime.md).
//
// A contextId is per principal: two callers who say "chat1" have two conversations. The operator's "root" has the id "root";
// every other id is `ctx-` and 16 hex digits. Messages are rows of the store and are not kept in memory.
// Confined to the core thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "runtime/journal.h"

namespace agentd::runtime {

struct Conversation {
  std::string id, principal, context;
  std::uint64_t version = 0, messages = 0, est_tokens = 0, turns = 0;
  std::int64_t updated_ms = 0;
  std::vector<std::string> skills = {};  // that were read in it
  mutable std::string shown = {};        // as the feed tells it, when it was listed since it changed
};

class Conversations final {
 public:
  Conversations(Journal& journal, feed::Feed& feed, const Clock& clock, config::Retention retention);

  [[nodiscard]] Status load();  // pushes nothing

  // The conversation of that principal and context; made when there is none. The reference is good until the next
  // open(), which may drop it by the retention: whoever needs it later opens it again.
  Conversation& open(const std::string& principal, const std::string& context);
  // One more message of the user or the agent, and, with `turn`, one more turn.
  void add(Conversation& conversation, const Json& message, bool turn);
  // A skill was read in it.
  void note_skill(Conversation& conversation, const std::string& skill);
  void set_retention(config::Retention retention) { retention_ = retention; }
  // Says which ones somebody works in: those stay, past the retention too.
  void on_retention(std::function<bool(const Conversation&)> is_in_use) { is_in_use_ = std::move(is_in_use); }
  // Called with each that is dropped.
  void on_dropped(std::function<void(const Conversation&)> dropped) { dropped_ = std::move(dropped); }
  // Drops conversations past the retention, those that were quiet for longest first.
  void enforce_retention() { make_room(retention_.keep_last); }

  // Null when there is none.
  [[nodiscard]] const Conversation* find(const std::string& principal, const std::string& context) const;
  [[nodiscard]] static feed::Conversation payload(const Conversation& conversation);
  [[nodiscard]] const std::unordered_map<std::string, Conversation>& all() const { return by_id_; }

 private:
  void changed(Conversation& conversation);
  void append_rows(store::Batch& batch);
  void make_room(std::size_t most);
  void drop(const std::string& id);

  Journal& journal_;
  feed::Feed& feed_;
  const Clock& clock_;
  config::Retention retention_;
  std::unordered_map<std::string, Conversation> by_id_;
  std::map<std::pair<std::string, std::string>, std::string> by_context_;  // principal, context -> id
  std::set<std::pair<std::int64_t, std::string>> by_age_;                  // updated_ms, id
  std::set<std::string> dirty_;
  std::function<bool(const Conversation&)> is_in_use_ = [](const Conversation&) { return false; };
  std::function<void(const Conversation&)> dropped_ = [](const Conversation&) {};
  store::Batch pending_;  // messages and drops of this turn
};

}  // namespace agentd::runtime
