// Edge: one thread with its loop, HTTP server and gateway. Edges: all of them, behind the same listeners.
//
//   listener --accept--> edge 0 --in turn--> edge 0, edge 1, …      core --feed_moved()--> every edge
//
// Connections are dealt out by hand and not by SO_REUSEPORT, with which a second daemon could listen on the same
// port unnoticed.
// start() is for the thread that made them; feed_moved(), callers_revoked() and shut_down() for any.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/quota.h"
#include "http/server.h"
#include "net/listener.h"
#include "net/loop.h"
#include "wire/gateway.h"

namespace agentd::daemon {

class Edge final {
 public:
  Edge(const Clock& clock, wire::GatewayParts parts, Quota& connections, http::Losses& losses,
       http::ServerLimits limits);
  ~Edge();

  void serve(std::unique_ptr<net::Listener> listener, net::Accepted accepted);  // before start()
  // `running` is counted down by its first turn, when it has all the descriptors that it needs.
  void start(const std::string& name, std::latch& running);
  void adopt(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls);  // any thread
  void feed_moved() { gateway_.feed_moved(); }
  void callers_revoked() { gateway_.callers_revoked(); }
  // Stops accepting, lets answers out, closes the streams; then calls `done` on the edge's thread.
  void shut_down(std::int64_t grace_ms, std::function<void()> done);

 private:
  net::Loop loop_;
  wire::Gateway gateway_;
  http::Server server_;
  std::thread thread_;
};

class Edges final {
 public:
  Edges(unsigned count, const Clock& clock, const wire::GatewayParts& parts, http::ServerLimits limits);
  ~Edges() { edges_.front().reset(); }  // first, because it deals out to the others

  // Returns when all of them run.
  void start(std::vector<std::unique_ptr<net::Listener>> listeners);
  void feed_moved();
  void callers_revoked();
  void shut_down(std::int64_t grace_ms, std::function<void()> done);  // `done` once, on some edge's thread
  [[nodiscard]] const http::Losses& losses() const { return losses_; }

 private:
  Quota connections_;  // outlives the edges, as the next one does
  http::Losses losses_;
  std::size_t next_ = 0;  // to whom the next connection goes; of the first edge's thread
  std::vector<std::unique_ptr<Edge>> edges_;
};

}  // namespace agentd::daemon
