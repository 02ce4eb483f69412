// The model's client against scripted servers on loopback.
#include "llm/remote.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "http/fake_server.h"
#include "llm/stream_fixture.h"

namespace agentd::llm {
namespace {

using config::Provider;
using http::FakeExchange;
using http::FakeServer;

// A provider that does what its script says, one act a request; the last goes on.
class Script {
 public:
  using Act = std::function<void(FakeExchange&)>;
  explicit Script(std::vector<Act> acts)
      : acts_(std::move(acts)), server_([this](FakeExchange& exchange) { act(exchange); }) {}

  [[nodiscard]] std::string url() const { return server_.url() + "v1"; }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] std::string head() {
    const std::lock_guard lock(mutex_);
    return head_;
  }

 private:
  void act(FakeExchange& exchange) {
    const auto number = static_cast<std::size_t>(requests_++);
    {
      const std::lock_guard lock(mutex_);
      head_ = exchange.head();
    }
    acts_[std::min(number, acts_.size() - 1)](exchange);
  }

  const std::vector<Act> acts_;
  std::atomic<int> requests_ = 0;
  std::mutex mutex_;
  std::string head_;
  FakeServer server_;  // last: its threads use what is above
};

void answer(FakeExchange& exchange) {
  exchange.begin_events();
  exchange.send_chunk(openai_stream());
  exchange.end_chunks();
}

Script::Act status(int number, std::string body = "", std::string headers = "") {
  return [=](FakeExchange& exchange) { exchange.answer(number, body, headers); };
}

Script::Act stream(std::string bytes) {
  return [=](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk(bytes);
    exchange.end_chunks();
  };
}

// What was heard of one question.
struct Heard {
  std::vector<std::string> log;  // "text …", "again …"
  std::vector<std::int64_t> waits;
  std::optional<Result<Completion>> done;

  [[nodiscard]] Code code() const { return done && !*done ? done->error().code : Code::kInternal; }
  [[nodiscard]] std::string message() const { return done && !*done ? done->error().message : ""; }
  [[nodiscard]] bool good() const {
    if (!done || !done->has_value()) return false;
    Completion expected = recorded_completion();
    expected.model = (*done)->model;
    return **done == expected;
  }
};

class RemoteTest : public testing::Test {
 protected:
  // Until `loop_` is stopped, or 20 s.
  void run() {
    net::Timer patience(loop_);
    patience.arm(20'000, [this] {
      ADD_FAILURE() << "what was waited for did not happen";
      loop_.stop();
    });
    loop_.run();
  }

  Listener listen(Heard& heard) {
    return {.text = [&heard](std::string_view piece) { heard.log.push_back(fmt::format("text {}", piece)); },
            .again =
                [&heard](const Error& why, std::int64_t after_ms) {
                  heard.log.push_back("again " + why.message);
                  heard.waits.push_back(after_ms);
                },
            .done =
                [this, &heard](Result<Completion> answer) {
                  heard.done = std::move(answer);
                  loop_.stop();
                }};
  }

  RemoteModel remote(config::Model model) {
    return {loop_, client_, clock_, std::move(model), [this] { return random_; }};
  }

  // After what is due on the loop now.
  void end_soon() {
    loop_.post([this] { loop_.stop(); });
  }

  // The whole of one question.
  Heard ask(config::Model model) {
    RemoteModel asked = remote(std::move(model));
    Heard heard;
    const Question question = asked.ask(kRequest, listen(heard));
    EXPECT_TRUE(heard.log.empty() && !heard.done);
    run();
    return heard;
  }

  const ChatRequest kRequest{.messages = {{.text = "Weather?"}}};
  net::Loop loop_;
  http::Client client_{loop_};
  ManualClock clock_;
  double random_ = 0.0;
};

config::Model model_at(std::vector<std::string> urls) {
  config::Model model{
      .provider = Provider::kOpenAi, .name = "m", .api_key = config::Secret{.value = "sk-secret", .source = "env KEY"}};
  for (auto& url : urls) model.endpoints.push_back({.url = std::move(url)});
  return model;
}

std::string place_of(const Script& script) { return script.url().substr(7, script.url().find("/v1") - 7); }

TEST_F(RemoteTest, GivesAWholeAnswer) {
  Script script({answer});
  const auto heard = ask(model_at({script.url()}));
  EXPECT_TRUE(heard.good()) << heard.message();
  std::string text;
  for (const auto& entry : heard.log) text += entry.substr(5);
  EXPECT_EQ(text, recorded_completion().text);
  EXPECT_TRUE(script.head().starts_with("POST /v1/chat/completions HTTP/1.1\r\n")) << script.head();
  EXPECT_TRUE(script.head().contains("\r\nAuthorization: Bearer sk-secret\r\n")) << script.head();
}

TEST_F(RemoteTest, SpeaksAnthropicsDialect) {
  Script script({stream(anthropic_stream())});
  auto model = model_at({script.url() + "/"});
  model.provider = Provider::kAnthropic;
  const auto heard = ask(model);
  EXPECT_TRUE(heard.good()) << heard.message();
  EXPECT_TRUE(script.head().starts_with("POST /v1/messages HTTP/1.1\r\n")) << script.head();
  EXPECT_TRUE(script.head().contains("\r\nx-api-key: sk-secret\r\n")) << script.head();
}

TEST_F(RemoteTest, TakesAnAnswerThatIsNotStreamed) {
  Script script({status(200, R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})",
                        "Content-Type: application/json\r\n")});
  const auto heard = ask(model_at({script.url()}));
  ASSERT_TRUE(heard.done && *heard.done) << heard.message();
  EXPECT_EQ((*heard.done)->text, "Hi");
  EXPECT_EQ(heard.log, std::vector<std::string>{"text Hi"});
}

TEST_F(RemoteTest, AsksAgainWhereAnotherAttemptMayDoBetter) {
  const std::pair<Script::Act, std::string> faults[] = {
      {status(500, R"({"error":{"message":"boom"}})"), "it cannot answer now (HTTP 500): boom"},
      {status(529), "it cannot answer now (HTTP 529)"},
      {status(429, "", "Retry-After: 0\r\n"), "too many requests, or no credit left (HTTP 429)"},
      {stream("data: {\"choices\":\n\n"), "the answer is malformed: "},
      {stream(events({R"({"choices":[{"delta":{},"finish_reason":"stop"}]})", "[DONE]"})), "the answer is empty"},
      {stream(events({R"({"error":{"message":"overloaded"}})"})), "it broke off: overloaded"},
      {stream(""), "the answer was cut: it does not say why it ends"},
      {[](FakeExchange& exchange) { exchange.cut(); }, "the connection ended before the answer"}};
  for (const auto& [fault, words] : faults) {
    Script script({fault, answer});
    const auto heard = ask(model_at({script.url()}));
    EXPECT_TRUE(heard.good()) << heard.message();
    EXPECT_EQ(script.requests(), 2) << words;
    ASSERT_FALSE(heard.log.empty());
    EXPECT_TRUE(heard.log[0].starts_with("again " + place_of(script) + ": " + words)) << heard.log[0];
  }
}

TEST_F(RemoteTest, TakesNoPartOfAnAnswerThatIsCut) {
  const std::string whole = openai_stream();
  const std::string_view last = "[DONE]";
  for (const std::string_view until : {"Let me ", "call_2", R"("usage":{)", "[DONE]"}) {
    Script script({[&](FakeExchange& exchange) {
                     exchange.begin_events();
                     exchange.send_chunk(whole.substr(0, whole.find(until)));
                   },
                   answer});
    const auto heard = ask(model_at({script.url()}));
    EXPECT_TRUE(heard.good()) << until << ": " << heard.message();
    EXPECT_EQ(script.requests(), 2) << until;
    EXPECT_EQ(heard.waits.size(), 1) << until;
    if (until == last) EXPECT_EQ(heard.log[0], "text Let me look é.");
  }
}

TEST_F(RemoteTest, TakesAnAnswerWhoseConnectionIsHeldOpenOrCutAfterIt) {
  for (const bool held : {true, false}) {
    Script script({[held](FakeExchange& exchange) {
      exchange.begin_events();
      exchange.send_chunk(openai_stream());
      // Each lasts 10 s unless the peer closes; together they last longer than the test.
      for (int i = 0; held && i < 3; ++i) exchange.wait_for_peer();
    }});
    const auto heard = ask(model_at({script.url()}));
    EXPECT_TRUE(heard.good()) << heard.message();
    EXPECT_EQ(script.requests(), 1);
  }
}

TEST_F(RemoteTest, ForgetsTheAttemptBefore) {
  Script script({stream(events({R"({"choices":[{"delta":{"content":"Hi"}}]})"})), status(500, "data: boom"), answer});
  const auto heard = ask(model_at({script.url()}));
  EXPECT_TRUE(heard.good()) << heard.message();
  ASSERT_GT(heard.log.size(), 3);
  EXPECT_TRUE(heard.log[1].ends_with("the answer was cut: it does not say why it ends")) << heard.log[1];
  EXPECT_TRUE(heard.log[2].ends_with("it cannot answer now (HTTP 500): data: boom")) << heard.log[2];
}

TEST_F(RemoteTest, BacksOffWithJitter) {
  random_ = 1.0 / 128;
  Script script({status(503), status(503), status(503), answer});
  const auto heard = ask(model_at({script.url()}));
  EXPECT_TRUE(heard.good()) << heard.message();
  EXPECT_EQ(heard.waits, (std::vector<std::int64_t>{3, 7, 15}));
}

TEST_F(RemoteTest, WaitsAsLongAsItIsAskedTo) {
  const std::pair<std::string, std::int64_t> asked[] = {{"7", 7'000}, {"4000", 300'000}};
  for (const auto& [header, wait] : asked) {
    Script script({status(429, "", "Retry-After: " + header + "\r\n")});
    RemoteModel model = remote(model_at({script.url()}));
    Heard heard;
    auto listener = listen(heard);
    listener.again = [&](const Error&, std::int64_t after_ms) {
      heard.waits.push_back(after_ms);
      loop_.stop();
    };
    const Question question = model.ask(kRequest, std::move(listener));
    run();
    EXPECT_EQ(heard.waits, std::vector<std::int64_t>{wait});
  }
}

TEST_F(RemoteTest, GoesOnToTheNextEndpointAtOnceThoughTheFirstAsksForPatience) {
  Script busy({status(503, "", "Retry-After: 300\r\n")});
  Script script({answer});
  const auto heard = ask(model_at({busy.url(), script.url()}));
  EXPECT_TRUE(heard.good()) << heard.message();
  EXPECT_EQ(heard.waits, std::vector<std::int64_t>{0});
}

TEST_F(RemoteTest, TriesTheEndpointsInTurnButNoneThatRefused) {
  random_ = 1.0 / 128;
  Script refusing({status(401)});
  Script failing({status(500), status(500), answer});
  auto model = model_at({refusing.url(), failing.url()});
  model.endpoints[1].model = "other";
  const auto heard = ask(model);
  EXPECT_TRUE(heard.good()) << heard.message();
  EXPECT_EQ((*heard.done)->model, "other");
  EXPECT_EQ(refusing.requests(), 1);
  EXPECT_EQ(failing.requests(), 3);
  EXPECT_EQ(heard.waits, (std::vector<std::int64_t>{0, 3, 7}));
}

TEST_F(RemoteTest, GivesUpAfterItsRetries) {
  Script script({status(500, "boom")});
  auto model = model_at({script.url()});
  model.retries = 2;
  const auto heard = ask(model);
  EXPECT_EQ(heard.code(), Code::kUnavailable);
  EXPECT_EQ(heard.message(),
            fmt::format("the model did not answer (attempts: 3): {}: it cannot answer now (HTTP 500): boom; "
                        "try again later, or name another one in `endpoints` of agent.model",
                        place_of(script)));
  EXPECT_EQ(script.requests(), 3);
}

TEST_F(RemoteTest, NamesTheRefusalsOfOtherEndpointsWhenItGivesUp) {
  Script refusing({status(403)});
  Script failing({status(500)});
  auto model = model_at({refusing.url(), failing.url()});
  model.retries = 1;
  const auto heard = ask(model);
  EXPECT_EQ(heard.code(), Code::kUnavailable);
  EXPECT_TRUE(heard.message().contains("(HTTP 403); ")) << heard.message();
  EXPECT_TRUE(heard.message().contains("(HTTP 500); ")) << heard.message();
}

TEST_F(RemoteTest, SaysWhatIsRefusedWithoutTheKey) {
  Script script({status(401, R"({"error":{"message":"no such key: sk-secret,\nsk-secret"}})")});
  const auto heard = ask(model_at({script.url()}));
  EXPECT_EQ(heard.code(), Code::kConfig);
  EXPECT_EQ(heard.message(),
            place_of(script) + ": it refuses the key; see `api_key` of agent.model (HTTP 401): no such key: ***, ***");
  EXPECT_EQ(script.requests(), 1);
  EXPECT_TRUE(heard.log.empty());
}

TEST_F(RemoteTest, DoesNotAskAgainWhatIsRefused) {
  for (const auto& act : {status(400), status(403), status(404), status(302, "", "Location: /v2\r\n"),
                          status(200, "<html>", "Content-Type: text/html\r\n"),
                          stream(events({R"({"error":{"type":"invalid_request_error","message":"long"}})"}))}) {
    Script script({act});
    const auto heard = ask(model_at({script.url()}));
    EXPECT_EQ(heard.code(), Code::kConfig) << heard.message();
    EXPECT_EQ(script.requests(), 1) << heard.message();
  }
  Script one({status(401)});
  Script two({status(404)});
  const auto heard = ask(model_at({one.url(), two.url()}));
  EXPECT_EQ(heard.code(), Code::kConfig);
  EXPECT_TRUE(heard.message().contains("(HTTP 401); " + place_of(two))) << heard.message();
}

TEST_F(RemoteTest, BoundsWhatAProviderSays) {
  Script script({status(400, std::string(5000, 'x'))});
  const auto heard = ask(model_at({script.url()}));
  EXPECT_LT(heard.message().size(), 400);
  Script endless({[](FakeExchange& exchange) {
    exchange.send("HTTP/1.1 400 X\r\nContent-Length: 1000000\r\n\r\n" + std::string(70'000, 'x'));
    exchange.wait_for_peer();
  }});
  EXPECT_EQ(ask(model_at({endless.url()})).code(), Code::kConfig);
}

TEST_F(RemoteTest, GivesUpASilentServer) {
  Script silent({[](FakeExchange& exchange) { exchange.wait_for_peer(); }});
  Script falls_silent({[](FakeExchange& exchange) {
    exchange.begin_events();
    exchange.send_chunk(openai_stream().substr(0, 400));
    exchange.wait_for_peer();
  }});
  for (const auto* script : {&silent, &falls_silent}) {
    auto model = model_at({script->url()});
    model.retries = 1;
    (script == &silent ? model.first_byte_timeout_ms : model.silence_timeout_ms) = 50;
    const auto heard = ask(model);
    EXPECT_EQ(heard.code(), Code::kTimeout);
    EXPECT_TRUE(heard.message().contains(" in 50 ms; try again later")) << heard.message();
    EXPECT_EQ(script->requests(), 2);
  }
}

TEST_F(RemoteTest, IsPatientWithASlowAnswerThatGoesOn) {
  Script script({[](FakeExchange& exchange) {
    exchange.begin_events();
    const std::string whole = openai_stream();
    for (std::size_t at = 0; at < whole.size(); at += 50) {
      exchange.send_chunk(whole.substr(at, 50));
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    exchange.end_chunks();
  }});
  auto model = model_at({script.url()});
  model.first_byte_timeout_ms = model.silence_timeout_ms = 1000;  // the whole takes more
  const auto heard = ask(model);
  EXPECT_TRUE(heard.good()) << heard.message();
  EXPECT_EQ(script.requests(), 1);
}

TEST_F(RemoteTest, GoesToTheProviderItselfWhenNoEndpointIsNamed) {
  const std::pair<Provider, std::string> providers[] = {{Provider::kOpenAi, "api.openai.com"},
                                                        {Provider::kAnthropic, "api.anthropic.com"}};
  for (const auto& [provider, host] : providers) {
    Script proxy({status(502)});
    config::Model model{.provider = provider, .name = "m", .proxy = "http://" + place_of(proxy), .retries = 0};
    const auto heard = ask(model);
    EXPECT_EQ(heard.code(), Code::kUnavailable) << heard.message();
    EXPECT_TRUE(proxy.head().starts_with("CONNECT " + host + ":443 ")) << proxy.head();
  }
}

TEST_F(RemoteTest, TrustsTheCaOfTheConfiguration) {
  Script script({answer});
  auto model = model_at({"https://" + place_of(script) + "/v1"});
  model.ca = "/nowhere/ca.pem";
  model.retries = 0;
  const auto heard = ask(model);
  EXPECT_EQ(heard.code(), Code::kUnavailable);
  EXPECT_TRUE(heard.message().contains("'/nowhere/ca.pem' in `ca` cannot be read")) << heard.message();
}

TEST_F(RemoteTest, RefusesAUrlThatIsNone) {
  const auto heard = ask(model_at({"gopher://host"}));
  EXPECT_EQ(heard.code(), Code::kConfig);
  EXPECT_TRUE(heard.message().starts_with("host: that is no URL")) << heard.message();
}

TEST_F(RemoteTest, IsSilentOnceItsQuestionIsDestroyedWithinAgain) {
  Script script({status(500), answer});
  RemoteModel model = remote(model_at({script.url()}));
  Heard heard;
  std::optional<Question> question;
  auto listener = listen(heard);
  listener.again = [&](const Error&, std::int64_t) {
    question.reset();
    end_soon();
  };
  question = model.ask(kRequest, std::move(listener));
  run();
  EXPECT_TRUE(heard.log.empty() && !heard.done);
  EXPECT_EQ(script.requests(), 1);
}

TEST_F(RemoteTest, IsSilentOnceItsQuestionIsDestroyedWithinText) {
  const std::string text = events({R"({"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]})"});
  const Script::Act acts[] = {stream(text + "data: {\n\n"), stream(text + "data: [DONE]\n\n"),
                              [](FakeExchange& exchange) {
                                exchange.begin_events();
                                exchange.send_chunk(openai_stream().substr(0, 700));
                              },
                              status(200, R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]})",
                                     "Content-Type: application/json\r\n")};
  for (const auto& act : acts) {
    Script script({act, answer});
    RemoteModel model = remote(model_at({script.url()}));
    Heard heard;
    std::optional<Question> question;
    auto listener = listen(heard);
    listener.text = [&](std::string_view) {
      question.reset();
      end_soon();
    };
    question = model.ask(kRequest, std::move(listener));
    run();
    EXPECT_TRUE(heard.log.empty() && !heard.done);
    EXPECT_EQ(script.requests(), 1);
  }
}

TEST_F(RemoteTest, IsDoneOnce) {
  Script script({answer});
  RemoteModel model = remote(model_at({script.url()}));
  int times = 0;
  net::Timer later(loop_);
  const Question question = model.ask(kRequest, {.text = {}, .again = {}, .done = [&](const Result<Completion>&) {
                                                   ++times;
                                                   later.arm(600, [this] { loop_.stop(); });
                                                 }});
  run();
  EXPECT_EQ(times, 1);
}

TEST_F(RemoteTest, CanBeAskedAnewWithinDone) {
  Script script({answer});
  RemoteModel model = remote(model_at({script.url()}));
  Heard first;
  Heard second;
  Question question;
  auto listener = listen(first);
  listener.done = [&](Result<Completion> answer) {
    first.done = std::move(answer);
    question = model.ask(kRequest, listen(second));
  };
  question = model.ask(kRequest, std::move(listener));
  run();
  EXPECT_TRUE(first.good());
  EXPECT_TRUE(second.good());
  EXPECT_EQ(script.requests(), 2);
}

}  // namespace
}  // namespace agentd::llm
