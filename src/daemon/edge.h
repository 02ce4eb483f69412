// Edge: one thread with its loop, HTTP server and gateway.
//
// start() is for the thread that made it; feed_moved() and shut_down() for any.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "http/server.h"
#include "net/listener.h"
#include "net/loop.h"
#include "wire/gateway.h"

namespace agentd::daemon {

class Edge final {
 public:
  Edge(const Clock& clock, wire::GatewayParts parts);
  ~Edge();

  void start(std::vector<std::unique_ptr<net::Listener>> listeners);
  void feed_moved() { gateway_.feed_moved(); }
  // Stops accepting, lets answers out, closes the streams; then calls `done` on the edge's thread.
  void shut_down(std::int64_t grace_ms, std::function<void()> done);

 private:
  net::Loop loop_;
  wire::Gateway gateway_;
  http::Server server_;
  std::thread thread_;
};

}  // namespace agentd::daemon
