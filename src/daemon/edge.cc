#include "daemon/edge.h"

#include <pthread.h>

#include <utility>

namespace agentd::daemon {

Edge::Edge(const Clock& clock, wire::GatewayParts parts)
    : gateway_(loop_, std::move(parts)), server_(loop_, clock, gateway_) {}

Edge::~Edge() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

void Edge::start(std::vector<std::unique_ptr<net::Listener>> listeners) {
  for (auto& listener : listeners) server_.serve(std::move(listener));
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "agentd-edge");
    loop_.run();
  });
}

void Edge::shut_down(std::int64_t grace_ms, std::function<void()> done) {
  loop_.post([this, grace_ms, done = std::move(done)]() mutable {
    gateway_.refuse_parked(
        {.code = Code::kDraining, .message = "this daemon stops; the work goes on when it is started again"});
    server_.shut_down(grace_ms, std::move(done));
  });
}

}  // namespace agentd::daemon
