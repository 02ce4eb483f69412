#include "http/answer.h"

#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "http/connection.h"

namespace agentd::http {

Answer::Answer(const std::shared_ptr<Connection>& connection, Request request)
    : connection_(connection), request_(std::move(request)) {}

Answer::~Answer() {
  if (answered_) return;
  if (const auto connection = connection_.lock()) {
    log::error("a request was dropped without an answer");
    connection->respond({.status = 500});
  }
}

std::shared_ptr<Connection> Answer::take() {
  AGENTD_CHECK(!answered_, "a request is answered once");
  answered_ = true;
  gone_ = nullptr;
  return connection_.lock();
}

void Answer::respond(Response response) {
  if (const auto connection = take()) connection->respond(response);
}

std::function<void()> Answer::stream(Response head, std::shared_ptr<StreamSource> source, StreamLimits limits) {
  const auto connection = take();
  if (!connection) {
    source->closed();
    return [] {};
  }
  connection->stream(head, std::move(source), limits);
  return [weak = std::weak_ptr(connection)] {
    if (const auto still = weak.lock()) still->wake();
  };
}

void Answer::on_abandoned(std::function<void()> gone) {
  if (abandoned_) return gone();
  if (!answered_) gone_ = std::move(gone);
}

void Answer::abandon() {
  abandoned_ = true;
  connection_.reset();
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

}  // namespace agentd::http
