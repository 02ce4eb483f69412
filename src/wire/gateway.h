// Gateway: what stands between one edge's HTTP server and the core (design.md section 4).
//
//   head: origin, host, route, content type, credential or failures  -> refused before the body is read
//   body: JSON, rate, envelope, A2A-Version, method, extensions      -> refused on the edge
//   then the core thread, whose answer is posted back and written here
//
// Confined to its edge's thread, except feed_moved() and callers_revoked(), which any thread may call. A request that waits for the core is parked
// here by number; the core never holds on to a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "a2a/extensions.h"
#include "access/limits.h"
#include "access/live_access.h"
#include "base/clock.h"
#include "base/current.h"
#include "base/quota.h"
#include "command/commands.h"
#include "config/snapshot.h"
#include "feed/feed.h"
#include "feed/readers.h"
#include "http/deadlines.h"
#include "http/server.h"
#include "net/loop.h"
#include "runtime/service.h"
#include "wire/events_stream.h"
#include "wire/jsonrpc.h"
#include "wire/oauth.h"
#include "wire/pages.h"
#include "wire/task_stream.h"

namespace agentd::wire {

// What a gateway needs of the rest; all of it outlives the gateway.
struct GatewayParts {
  net::Loop& core;
  runtime::Service& service;    // core thread
  command::Commands& commands;  // core thread
  const feed::Feed& feed;
  const access::LiveAccess& access;
  access::Limits& limits;  // of all edges
  const config::Snapshot& config;
  Quota& streams;  // of all edges, by principal
  const Clock& clock;
  const Current<Pages>& pages;
  OAuth& oauth;
  runtime::Journal& journal;  // core thread
  runtime::Audit& audit;      // core thread
  a2a::Extensions declared;
  std::string rpc_prefix;  // path of the card's URL without its last slash: "" or "/agent"
  // GetExtendedAgentCard for one caller; any thread.
  std::function<Json(const access::Caller&)> extended_card;
};

class Gateway final : public http::Handler {
 public:
  Gateway(net::Loop& edge, GatewayParts parts);
  ~Gateway() override;

  std::optional<http::Response> check_header(const http::Request& header) override;
  void handle(std::shared_ptr<http::Exchange> exchange) override;
  [[nodiscard]] http::Response refusal(int status, std::string_view reason) override;

  // Answers every request that still waits for the core: it will not be answered in this life.
  void refuse_parked(const Error& error);

  // Some callers are revoked: ends their streams, and answers those of their requests that wait.
  void callers_revoked();

  // There are new events: wakes the streams of those who may see them, once however often it is called.
  void feed_moved();

  // One JSON-RPC request on its way.
  struct Rpc {
    std::shared_ptr<http::Exchange> exchange;
    Json id, params;  // params: an object
    runtime::Call call;
    std::string echo;                  // value of the response's A2A-Extensions header
    std::optional<Error> unkept = {};  // what is wrong with a number in the params, for when they are read
  };

 private:
  friend struct Methods;  // the table of methods in gateway.cc
  using Ticket = std::uint64_t;

  [[nodiscard]] bool is_rpc(const std::string& path) const;
  [[nodiscard]] std::optional<http::Response> refuse_header(const http::Request& header) const;
  // Who it comes from, or the refusal: 401, or 429 when its source has failed too often.
  [[nodiscard]] Result<access::Caller> identify(const http::Request& request,
                                                std::optional<std::string_view> csrf = {}) const;
  // A credential that was refused goes to the audit trail, but not while its source has failed too often: whoever guesses
  // without end would fill it.
  void audit_refusal(const http::Request& request, const Error& told) const;
  void rpc(std::shared_ptr<http::Exchange> exchange, const access::Caller& caller);
  void answer(const Rpc& rpc, const Result<runtime::ReplyValue>& result);
  [[nodiscard]] Ticket park(Rpc rpc);  // until it is answered or its peer has gone
  // Runs `work` on the core thread; what it replies comes back to this edge and is written.
  void on_core(Rpc rpc, std::move_only_function<void(const runtime::Call&, const Json&, runtime::Reply)> work);
  void on_core_streaming(Rpc rpc,
                         std::move_only_function<void(const runtime::Call&, const Json&, runtime::Delivery)> work);
  [[nodiscard]] runtime::Reply reply_to(Ticket ticket);

  // Answers with what `work` gives on the core thread, once what it changed is durable.
  void respond_from_core(std::shared_ptr<http::Exchange> exchange, Work work);
  void end_revoked();
  void keep(const std::shared_ptr<TaskStream>& stream);
  void subscribe_to_events(Rpc rpc);
  void get_events(std::shared_ptr<http::Exchange> exchange, const access::Caller& caller);
  [[nodiscard]] Result<Quota::Place> take_stream(const access::Caller& caller) const;
  void open_events(const std::shared_ptr<http::Exchange>& exchange, feed::Interest interest, std::uint64_t from_seq,
                   SseFraming framing, EventsOptions options, Quota::Place place, const std::string& echo);

  net::Loop& edge_;
  const GatewayParts parts_;
  feed::Readers readers_;
  http::Deadlines deadlines_;  // of the streams
  std::unordered_map<Ticket, Rpc> parked_;
  std::unordered_map<Ticket, std::shared_ptr<http::Exchange>> waiting_;  // for respond_from_core
  std::vector<std::weak_ptr<TaskStream>> task_streams_;                  // those that are gone too, until it grows
  Ticket next_ticket_ = 1;
  // Shared with the work that feed_moved posts, which may run when the gateway has gone.
  struct Mailbox {
    std::atomic<bool> moved{false};
    bool open = true;
  };
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

}  // namespace agentd::wire
