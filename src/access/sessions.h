// Sessions: the sign-ins that are good now, found by their token (access.md section 4).
//
// A token is kept as its SHA-256 alone. Thread-safe: edges look tokens up, the core thread adds and ends. Cost of a look-up:
// one hash and one lock. One that has ended is not found any more, and its `ended` is true for who holds it: a stream, a
// request under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/caller.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"

namespace agentd::access {

inline constexpr std::string_view kTokenPrefix = "agentd_at_";

// How it came about: a device that an operator let in, or a program beside the daemon, of the daemon's own user.
enum class SessionKind : std::uint8_t { kDevice, kLaunch };

struct Session {
  std::string sid;  // ds_ or ls_, and 16 digits
  SessionKind kind = SessionKind::kDevice;
  std::string token_hash;  // SHA-256, hex
  std::string name;        // whose: several sessions of one name are one principal; "" for a launch
  config::Role role = config::Role::kUser;
  std::string client_id;
  std::string approved_by;  // principal
  std::int64_t created_ms = 0, expires_ms = 0;
  std::shared_ptr<std::atomic<bool>> ended = std::make_shared<std::atomic<bool>>(false);

  [[nodiscard]] std::string principal() const;
};

// Who holds it.
[[nodiscard]] Caller caller_of(const Session& session);
// What is shown of it: never the hash.
[[nodiscard]] Json to_json(const Session& session);
// What a page that has the session's cookie sends beside it, to show that it is of this daemon: who has the token has this.
[[nodiscard]] std::string csrf_token(std::string_view token);
// For the store, and back. Errors: kUnavailable.
[[nodiscard]] std::string to_body(const Session& session);
[[nodiscard]] Result<Session> from_body(const std::string& sid, const std::string& body);

class Sessions final {
 public:
  // Of a token; nothing when it is nobody's, or its session is over.
  [[nodiscard]] std::optional<Session> get(std::string_view token, std::int64_t wall_ms) const;
  // Who holds it.
  [[nodiscard]] std::optional<Caller> find(std::string_view token, std::int64_t wall_ms) const;

  void add(Session session);
  // Ends those for which `which` is true, and gives them.
  std::vector<Session> end(const std::function<bool(const Session&)>& which);

  [[nodiscard]] std::vector<Session> all() const;  // oldest first

 private:
  mutable Mutex mutex_;
  std::map<std::string, Session, std::less<>> by_hash_ AGENTD_GUARDED_BY(mutex_);
};

}  // namespace agentd::access
