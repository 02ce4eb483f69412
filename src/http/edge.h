// Edge: what the connections of one server share: its limits, their deadlines, the buffers that only one of
// them needs at a time, and the list of those that have something to do in the next turn of the loop.
//
// Edge-confined, and owned by the server.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "http/connection.h"
#include "http/deadlines.h"
#include "http/gather.h"
#include "http/losses.h"
#include "http/response_text.h"
#include "http/sender.h"
#include "http/server.h"

namespace agentd::http {

class Edge final : public std::enable_shared_from_this<Edge> {
 public:
  Edge(net::Loop& loop, const Clock& clock, Handler& handler, Quota& quota, Losses& losses, ServerLimits limits);
  ~Edge();
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  void start();  // in the first turn of the loop
  void open(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls);
  // Calls the connection's turn() once in the next turn of the loop, however often this is called until then.
  void ready(Connection& connection);
  // It is closed. Keeps it until the next turn of the loop.
  void forget(Connection& connection);
  // Opens no more, and closes each as soon as nothing is due to it. `empty` is called, from the loop, when
  // all are closed.
  void drain(std::function<void()> empty);
  void cut_all();

  [[nodiscard]] bool draining() const { return draining_; }
  [[nodiscard]] std::size_t size() const { return connections_.size(); }

  net::Loop& loop;
  const Clock& clock;
  Handler& handler;
  Quota& quota;  // of connections
  Losses& losses;
  const ServerLimits limits;
  Deadlines deadlines;
  DateText date;
  Gather gather;
  std::vector<StreamEvent> peeked;
  std::vector<Offer> offers;
  std::array<char, 64U << 10U> input;

 private:
  void take_turns();
  void send_offers();
  void post_turn();

  std::vector<std::shared_ptr<Connection>> connections_;  // each knows its place
  std::vector<std::shared_ptr<Connection>> ready_;
  std::vector<std::shared_ptr<Connection>> closed_;
  Sender sender_;
  std::vector<Send> sends_;
  std::size_t turned_away_ = 0;  // of connections_: over the cap
  std::size_t first_ = 0;        // who is first in a turn rotates: the last of many waits for all the others
  bool turn_posted_ = false;
  bool draining_ = false;
  std::function<void()> empty_;
};

}  // namespace agentd::http
