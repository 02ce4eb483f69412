// What the tests of the client have in common: a client on a loop of the test's own thread, and what became of a request.
//
// The word "secret" in a URL, a header or a body is what no error may name; fetch() looks.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/client.h"
#include "net/loop.h"

namespace agentd::http {

struct Received {
  ResponseHead head;
  int heads = 0;
  std::string body;
  std::optional<Status> done;

  [[nodiscard]] bool good() const { return done && done->has_value(); }
  [[nodiscard]] Code code() const { return done && !*done ? done->error().code : Code::kInternal; }
  [[nodiscard]] std::string message() const { return done && !*done ? done->error().message : ""; }
};

class ClientTest : public testing::Test {
 protected:
  // Until the loop is stopped, or 20 s.
  void run() {
    net::Timer patience(loop_);
    patience.arm(20'000, [this] {
      ADD_FAILURE() << "what was waited for did not happen";
      loop_.stop();
    });
    loop_.run();
  }

  // Its `done` stops the loop.
  Receiver receive(Received& into) {
    return {.head =
                [&into](const ResponseHead& head) {
                  EXPECT_FALSE(into.done);
                  into.head = head;
                  ++into.heads;
                },
            .body =
                [&into](std::string_view piece) {
                  EXPECT_EQ(into.heads, 1);
                  EXPECT_FALSE(into.done);
                  into.body += piece;
                },
            .done =
                [this, &into](Status status) {
                  EXPECT_FALSE(into.done);
                  into.done = std::move(status);
                  loop_.stop();
                }};
  }

  Received fetch(OutboundRequest request) {
    Received received;
    const Transfer transfer = client_.start(std::move(request), receive(received));
    EXPECT_FALSE(received.done) << "not within start()";
    run();
    EXPECT_FALSE(received.message().contains("secret")) << received.message();
    return received;
  }

  net::Loop loop_;
  Client client_{loop_};
};

[[nodiscard]] inline OutboundRequest get_of(const std::string& url) {
  return {.method = "GET", .url = url + "secret?q=secret", .headers = {{"X-Key", "secret"}}, .reach = Reach::kAnywhere};
}

[[nodiscard]] inline OutboundRequest post_of(const std::string& url, std::string body = "secret") {
  auto request = get_of(url);
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

}  // namespace agentd::http
