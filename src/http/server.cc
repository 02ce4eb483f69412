#include "http/server.h"

#include <utility>

#include "http/edge.h"

namespace agentd::http {

Response Handler::refusal(int status, std::string_view reason) {
  return {.status = status, .headers = {{"Content-Type", "text/plain"}}, .body = std::string(reason) + "\n"};
}

struct Server::Impl {
  Impl(net::Loop& loop, const Clock& clock, Handler& handler, Quota& connections, Losses& losses, ServerLimits limits)
      : edge(std::make_shared<Edge>(loop, clock, handler, connections, losses, limits)), grace(loop) {
    loop.post([made = std::weak_ptr(edge)] {
      if (const auto started = made.lock()) started->start();
    });
  }

  std::shared_ptr<Edge> edge;
  net::Timer grace;
  std::vector<std::unique_ptr<net::Listener>> listeners;
};

Server::Server(net::Loop& loop, const Clock& clock, Handler& handler, Quota& connections, Losses& losses,
               ServerLimits limits)
    : impl_(std::make_unique<Impl>(loop, clock, handler, connections, losses, limits)) {}

Server::~Server() = default;

void Server::serve(std::unique_ptr<net::Listener> listener, net::Accepted accepted) {
  if (!accepted) {
    accepted = [this](Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls) {
      adopt(std::move(fd), std::move(peer), std::move(tls));
    };
  }
  listener->start(impl_->edge->loop, std::move(accepted));
  impl_->listeners.push_back(std::move(listener));
}

void Server::adopt(Descriptor fd, net::Peer peer, std::unique_ptr<net::TlsStream> tls) {
  impl_->edge->open(std::move(fd), std::move(peer), std::move(tls));
}

void Server::shut_down(std::int64_t grace_ms, std::function<void()> done) {
  for (const auto& listener : impl_->listeners) listener->close();
  impl_->grace.arm(grace_ms, [this] { impl_->edge->cut_all(); });
  impl_->edge->drain([this, done = std::move(done)] {
    impl_->grace.cancel();
    done();
  });
}

std::size_t Server::connections() const { return impl_->edge->size(); }

}  // namespace agentd::http
