#include "http/edge.h"

#include <utility>

namespace agentd::http {

namespace {

// Over the cap, this many at a time are told so; what comes beyond is closed without a word.
constexpr std::size_t kRefusedPolitely = 64;

}  // namespace

Edge::Edge(net::Loop& loop_of_edge, const Clock& clock_of_edge, Handler& handler_of_edge, Quota& quota_of_server,
           Losses& losses_of_server, ServerLimits limits_of_edge)
    : loop(loop_of_edge),
      clock(clock_of_edge),
      handler(handler_of_edge),
      quota(quota_of_server),
      losses(losses_of_server),
      limits(limits_of_edge),
      deadlines(loop_of_edge, clock_of_edge) {}

void Edge::start() {
  if (limits.io_uring) sender_.use_io_uring();
}

Edge::~Edge() {
  ready_.clear();
  cut_all();
}

void Edge::open(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls) {
  if (draining_) return;
  const bool of_this_machine = peer.loopback || peer.uid >= 0;
  auto admission = quota.take(
      peer.address,
      {.all = limits.connections, .per_key = of_this_machine ? limits.connections : limits.connections_per_source});
  if (!admission && (tls || turned_away_ == kRefusedPolitely)) return;  // a handshake would be what costs most
  const bool full = !admission;
  auto connection = std::make_shared<Connection>(*this, std::move(fd), std::move(tls), std::move(peer), size(),
                                                 full ? Quota::Place() : std::move(*admission));
  connections_.push_back(connection);
  if (full) {
    ++turned_away_;
    connection->turn_away();
  } else {
    connection->start();
  }
}

void Edge::ready(Connection& connection) {
  if (std::exchange(connection.queued_, true)) return;
  ready_.push_back(connection.shared_from_this());
  post_turn();
}

void Edge::post_turn() {
  if (std::exchange(turn_posted_, true)) return;
  loop.post([self = weak_from_this()] {
    if (const auto edge = self.lock()) edge->take_turns();
  });
}

void Edge::take_turns() {
  turn_posted_ = false;
  closed_.clear();
  const auto ready = std::exchange(ready_, {});
  const auto count = ready.size();
  const auto first = count == 0 ? 0 : ++first_ % count;
  deadlines.begin_turn();
  for (std::size_t i = 0; i < count; ++i) {
    Connection& connection = *ready[first + i < count ? first + i : first + i - count];
    connection.queued_ = false;
    if (!gather.begin()) send_offers();
    connection.turn();
  }
  send_offers();
  deadlines.end_turn();
  if (connections_.empty() && empty_) std::exchange(empty_, nullptr)();
}

void Edge::send_offers() {
  // While the others offered, another thread may have revoked one: it is asked last thing before the kernel is.
  std::erase_if(offers, [](const Offer& offer) { return !offer.connection->stands(offer); });
  sends_.clear();
  for (Offer& offer : offers) {
    sends_.push_back({.fd = offer.connection->fd_.get(), .pieces = offer.connection->seal(offer)});
  }
  sender_.send(sends_);
  for (std::size_t i = 0; i < offers.size(); ++i) offers[i].connection->sent(offers[i], sends_[i].taken);
  offers.clear();
  peeked.clear();
  gather.clear();
}

void Edge::forget(Connection& connection) {
  if (!connection.admission_) --turned_away_;
  auto& place = connections_[connection.place_];
  closed_.push_back(std::exchange(place, std::move(connections_.back())));
  if (place) place->place_ = connection.place_;
  connections_.pop_back();
  post_turn();
}

void Edge::drain(std::function<void()> empty) {
  draining_ = true;
  empty_ = std::move(empty);
  const auto all = connections_;
  for (const auto& connection : all) connection->drain();
  post_turn();
}

void Edge::cut_all() {
  const auto all = connections_;
  for (const auto& connection : all) connection->close();
}

}  // namespace agentd::http
