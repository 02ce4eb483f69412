#include "wire/amend.h"

#include <utility>

namespace agentd::wire {
namespace {

class Amended final : public http::Exchange {
 public:
  Amended(std::shared_ptr<http::Exchange> inner, Amend amend) : inner_(std::move(inner)), amend_(amend) {}

  [[nodiscard]] const http::Request& request() const override { return inner_->request(); }
  void respond(http::Response response) override {
    amend_(request(), response);
    inner_->respond(std::move(response));
  }
  std::function<void()> stream(http::Response head, std::shared_ptr<http::StreamSource> source,
                               http::StreamLimits limits) override {
    amend_(request(), head);
    return inner_->stream(std::move(head), std::move(source), limits);
  }
  void on_abandoned(std::function<void()> gone) override { inner_->on_abandoned(std::move(gone)); }

 private:
  const std::shared_ptr<http::Exchange> inner_;
  const Amend amend_;
};

}  // namespace

std::shared_ptr<http::Exchange> amended(std::shared_ptr<http::Exchange> exchange, Amend amend) {
  return std::make_shared<Amended>(std::move(exchange), amend);
}

}  // namespace agentd::wire
