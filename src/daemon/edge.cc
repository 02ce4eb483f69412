#include "daemon/edge.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <utility>

namespace agentd::daemon {

Edge::Edge(const Clock& clock, wire::GatewayParts parts, Quota& connections, http::Losses& losses,
           http::ServerLimits limits)
    : gateway_(loop_, std::move(parts)), server_(loop_, clock, gateway_, connections, losses, limits) {}

Edge::~Edge() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

void Edge::serve(std::unique_ptr<net::Listener> listener, net::Accepted accepted) {
  server_.serve(std::move(listener), std::move(accepted));
}

void Edge::start(const std::string& name, std::latch& running) {
  loop_.post([&running] { running.count_down(); });
  thread_ = std::thread([this, name] {
    ::pthread_setname_np(::pthread_self(), name.c_str());
    loop_.run();
  });
}

void Edge::adopt(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls) {
  if (loop_.in_loop_thread()) return server_.adopt(std::move(fd), std::move(peer), std::move(tls));
  loop_.post([this, fd = std::move(fd), peer = std::move(peer), tls = std::move(tls)]() mutable {
    server_.adopt(std::move(fd), std::move(peer), std::move(tls));
  });
}

void Edge::shut_down(std::int64_t grace_ms, std::function<void()> done) {
  loop_.post([this, grace_ms, done = std::move(done)]() mutable {
    gateway_.refuse_parked(
        {.code = Code::kDraining, .message = "this daemon stops; the work goes on when it is started again"});
    server_.shut_down(grace_ms, std::move(done));
  });
}

Edges::Edges(unsigned count, const Clock& clock, const wire::GatewayParts& parts, http::ServerLimits limits) {
  for (unsigned i = 0; i < count; ++i)
    edges_.push_back(std::make_unique<Edge>(clock, parts, connections_, losses_, limits));
}

void Edges::start(std::vector<std::unique_ptr<net::Listener>> listeners) {
  for (auto& listener : listeners) {
    edges_.front()->serve(std::move(listener),
                          [this](Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls) {
                            edges_[next_]->adopt(std::move(fd), std::move(peer), std::move(tls));
                            next_ = (next_ + 1) % edges_.size();
                          });
  }
  std::latch running(static_cast<std::ptrdiff_t>(edges_.size()));
  for (std::size_t i = 0; i < edges_.size(); ++i) edges_[i]->start(fmt::format("agentd-edge-{}", i), running);
  running.wait();
}

void Edges::feed_moved() {
  for (const auto& edge : edges_) edge->feed_moved();
}

void Edges::callers_revoked() {
  for (const auto& edge : edges_) edge->callers_revoked();
}

void Edges::shut_down(std::int64_t grace_ms, std::function<void()> done) {
  auto left = std::make_shared<std::atomic<std::size_t>>(edges_.size());
  for (const auto& edge : edges_) {
    edge->shut_down(grace_ms, [left, done] {
      if (--*left == 0) done();
    });
  }
}

}  // namespace agentd::daemon
