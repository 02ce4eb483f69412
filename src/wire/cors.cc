#include "wire/cors.h"

#include <utility>

namespace agentd::wire {
namespace {

class ReadableExchange final : public http::Exchange {
 public:
  explicit ReadableExchange(std::shared_ptr<http::Exchange> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const http::Request& request() const override { return inner_->request(); }
  void respond(http::Response response) override { inner_->respond(allowed(std::move(response))); }
  std::function<void()> stream(http::Response head, std::shared_ptr<http::StreamSource> source,
                               http::StreamLimits limits) override {
    return inner_->stream(allowed(std::move(head)), std::move(source), limits);
  }
  void on_abandoned(std::function<void()> gone) override { inner_->on_abandoned(std::move(gone)); }

 private:
  [[nodiscard]] http::Response allowed(http::Response response) const {
    allow_origin(response, request().header("Origin").value_or(""));
    return response;
  }

  const std::shared_ptr<http::Exchange> inner_;
};

}  // namespace

void allow_origin(http::Response& response, std::string_view origin) {
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "a2a-extensions, retry-after, www-authenticate");
  response.headers.emplace_back("Vary", "Origin");
}

bool is_preflight(const http::Request& request) { return request.method == "OPTIONS" && request.header("Origin"); }

http::Response preflight_response() {
  return {.status = 204,
          .headers = {{"Access-Control-Allow-Methods", "POST, GET, OPTIONS"},
                      {"Access-Control-Allow-Headers",
                       "content-type, authorization, last-event-id, a2a-extensions, a2a-version"},
                      {"Access-Control-Max-Age", "600"}}};
}

std::shared_ptr<http::Exchange> readable_by_origin(std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<ReadableExchange>(std::move(exchange));
}

}  // namespace agentd::wire
