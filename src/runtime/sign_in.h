// SignIn: device sign-in, launch, and the sessions that come of them (access.md section 4): what asks, approves and revokes
// changes here, is stored, pushed on the feed (`auth`) and audited, and nowhere else.
// What an op does is audited with the op.
//
// Confined to the core thread; the sessions it fills are for every thread. A session ends here: `on_ended` is called when
// some have, after their flags are set and before anything else is pushed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/device_codes.h"
#include "access/launch_codes.h"
#include "access/sessions.h"
#include "base/clock.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "net/loop.h"
#include "runtime/audit.h"
#include "runtime/journal.h"

namespace agentd::runtime {

class SignIn final {
 public:
  SignIn(net::Loop& loop, Journal& journal, feed::Feed& feed, const Clock& clock, access::Sessions& sessions,
         const config::Snapshot& config, Audit& audit);

  // Reads the sessions of earlier lives. Errors: kUnavailable.
  [[nodiscard]] Status load();
  // Who else has a name, for approvals.
  void set_rules(std::vector<config::PrincipalRule> rules) { rules_ = std::move(rules); }
  void on_ended(std::function<void()> ended) { on_ended_ = std::move(ended); }

  [[nodiscard]] bool enabled() const { return config_.enabled; }
  // False while the store refuses writes: what is asked for or fetched now would not be kept.
  [[nodiscard]] bool can_keep() const { return !journal_.refusing(); }

  // ---- The device's side.
  [[nodiscard]] access::DeviceCodes::Asked ask(access::DeviceAsk ask);
  struct Answer {
    access::DeviceCodes::Poll poll = access::DeviceCodes::Poll::kInvalid;
    std::string token;  // of kApproved; good once the journal is durable
    config::Role scope = config::Role::kUser;
  };
  [[nodiscard]] Answer poll(std::string_view device_code, std::string_view client_id);

  // ---- The side of a program beside the daemon, of the daemon's own user. It needs no device sign-in to be on.
  static constexpr std::int64_t kLaunchTtlMs = 8LL * 3600 * 1000;
  [[nodiscard]] std::string launch_code(access::LaunchBinding binding);
  // The token of an operator's session, good once the journal is durable. Nothing for a code that is not good, or not for
  // `shown`; it is used up either way.
  [[nodiscard]] std::optional<std::string> launch(std::string_view code, const access::LaunchBinding& shown,
                                                  const std::string& peer);

  // ---- Of any session.
  // What its holder gives up. A token that is not one changes nothing.
  void give_up(std::string_view token);

  // ---- The operator's side: what the ops of command.md section 3 answer. Errors: kInvalidParams with the argument at fault,
  // below `field`.
  [[nodiscard]] Json pending() const;
  [[nodiscard]] Result<Done> approve(const Json& args, const std::string& by, const std::string& field);
  [[nodiscard]] Result<Done> deny(const Json& args, const std::string& field);
  [[nodiscard]] Json sessions() const;
  [[nodiscard]] Done revoke(const Json& args);

 private:
  void begin(access::Session session);
  using Which = std::function<bool(const access::Session&)>;
  std::vector<access::Session> end(const Which& which, bool revoked);
  void expire();

  Journal& journal_;
  feed::Feed& feed_;
  const Clock& clock_;
  access::Sessions& sessions_;
  const config::DeviceGrant config_;
  std::vector<config::PrincipalRule> rules_;
  const bool persist_;
  access::DeviceCodes codes_;
  access::LaunchCodes launch_codes_;
  net::Timer expiring_;
  std::function<void()> on_ended_;
  Audit& audit_;
};

}  // namespace agentd::runtime
