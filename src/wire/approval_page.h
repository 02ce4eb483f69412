// The approval page as HTML: what an operator sees of the sign-ins that wait, and what anybody else sees. Pure.
//
// All that is shown came from outside, and is escaped.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "http/message.h"

namespace agentd::wire {

// A form that was sent and was at fault: it is shown again, as it was filled in.
struct Attempt {
  std::string user_code, name, scope;
  std::string fault;  // "" = there was none
};

struct ApprovalView {
  Json pending = Json::array();  // {user_code, client_id, scope, peer, requested_at}, oldest first
  std::string user_code = {};    // as it was typed; the one of it is shown first
  std::string csrf_token = {};   // "" = there is no cookie to be stolen
  std::int64_t now_ms = 0;
  Attempt attempt = {};
};

// 200, or 400 for a fault.
[[nodiscard]] http::Response approval_page(const ApprovalView& view);
// What became of a form. `text` is text.
[[nodiscard]] http::Response outcome_page(int status, const std::string& title, const std::string& text);
// For who is no operator: how one approves. Nobody is signed in here.
[[nodiscard]] http::Response device_page(const std::string& user_code);

}  // namespace agentd::wire
