// Answer: the exchange of one request, as its handler sees it. Edge-confined; held by the handler alone, for
// as long as it likes, and by nothing of the server: an idle stream does not pay for its request.
//
// Dropped without an answer, which is a fault of the handler, it answers 500 so that the peer does not wait
// for ever.
#pragma once

#include <functional>
#include <memory>

#include "http/server.h"

namespace agentd::http {

class Connection;

class Answer final : public Exchange {
 public:
  Answer(const std::shared_ptr<Connection>& connection, Request request);
  ~Answer() override;

  [[nodiscard]] const Request& request() const override { return request_; }
  void respond(Response response) override;
  std::function<void()> stream(Response head, std::shared_ptr<StreamSource> source, StreamLimits limits) override;
  void on_abandoned(std::function<void()> gone) override;

  void abandon();  // by the connection: the peer has gone

 private:
  std::shared_ptr<Connection> take();

  std::weak_ptr<Connection> connection_;
  Request request_;
  std::function<void()> gone_;
  bool answered_ = false;
  bool abandoned_ = false;
};

}  // namespace agentd::http
